//! The body of `POST /otp`.

use serde_json::{Map, Value};

use super::CodeChallenge;
use crate::domain::error::Result;
use crate::wire::go_json::Object;

/// Who wants a code or link to sign in; texts are `""` if absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Otp {
    /// `email`.
    pub email: String,
    /// `phone`.
    pub phone: String,
    /// `create_user`: whether an account may be made; `true` if absent.
    pub create_user: bool,
    /// `data`: becomes part of a new account's metadata.
    pub data: Option<Map<String, Value>>,
    /// `channel`: how a text is sent, `sms` or `whatsapp`; `""` means `sms`.
    pub channel: String,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: CodeChallenge,
}

impl Otp {
    /// Reads the body; 400 `bad_json` if it does not fit.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            email: body.string("email")?,
            phone: body.string("phone")?,
            create_user: body.bool_or("create_user", true)?,
            data: body.opt_object("data")?,
            channel: body.string("channel")?,
            pkce: CodeChallenge::of(&body)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read() {
        let read = Otp::decode(br#"{"phone":"1","channel":"sms","data":{"n":"x"},"code_challenge":"c"}"#).unwrap();
        assert_eq!((read.phone.as_str(), read.channel.as_str(), read.email.as_str()), ("1", "sms", ""));
        assert_eq!((&read.data.unwrap()["n"], read.pkce.challenge.as_str()), (&serde_json::json!("x"), "c"));
        assert_eq!(Otp::decode(br#"{"phone":15550100}"#).unwrap_err().code(), "bad_json");
    }

    #[test]
    fn an_account_may_be_made_unless_told_otherwise() {
        let may = |body: &str| Otp::decode(body.as_bytes()).unwrap().create_user;
        assert!(may("{}") && may(r#"{"create_user":null}"#) && may(r#"{"create_user":true}"#));
        assert!(!may(r#"{"create_user":false}"#) && !may(r#"{"create_user":false,"create_user":null}"#));
        assert_eq!(Otp::decode(br#"{"create_user":"no"}"#).unwrap_err().code(), "bad_json");
    }
}
