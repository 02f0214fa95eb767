//! The body of `POST /otp`.

use foundation::error::Result;
use serde_json::{Map, Value};

use super::pkce::PkceParameters;
use crate::wire::go_json::Object;

/// A request for a one-time code or link; texts are `""` if absent.
#[derive(Debug, Clone, PartialEq)]
pub struct OtpRequest {
    pub email: String,
    pub phone: String,
    /// `create_user`: whether a user may be created; `true` if absent.
    pub create_user: bool,
    /// `data`: metadata of a new user.
    pub data: Option<Map<String, Value>>,
    /// `channel`: the SMS channel, `sms` or `whatsapp`; `""` means `sms`.
    pub channel: String,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: PkceParameters,
}

impl OtpRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            email: body.string("email")?,
            phone: body.string("phone")?,
            create_user: body.bool_or("create_user", true)?,
            data: body.opt_object("data")?,
            channel: body.string("channel")?,
            pkce: PkceParameters::decode(&body)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn otp_body_is_decoded() {
        let read =
            OtpRequest::decode(br#"{"phone":"1","channel":"sms","data":{"n":"x"},"code_challenge":"c"}"#).unwrap();
        assert_eq!((read.phone.as_str(), read.channel.as_str(), read.email.as_str()), ("1", "sms", ""));
        assert_eq!((&read.data.unwrap()["n"], read.pkce.challenge.as_str()), (&serde_json::json!("x"), "c"));
        assert_eq!(OtpRequest::decode(br#"{"phone":15550100}"#).unwrap_err().code().as_str(), "bad_json");
    }

    #[test]
    fn create_user_defaults_to_true() {
        let may = |body: &str| OtpRequest::decode(body.as_bytes()).unwrap().create_user;
        assert!(may("{}") && may(r#"{"create_user":null}"#) && may(r#"{"create_user":true}"#));
        assert!(!may(r#"{"create_user":false}"#) && !may(r#"{"create_user":false,"create_user":null}"#));
        assert_eq!(OtpRequest::decode(br#"{"create_user":"no"}"#).unwrap_err().code().as_str(), "bad_json");
    }
}
