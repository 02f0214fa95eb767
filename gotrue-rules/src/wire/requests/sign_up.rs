//! The body of `POST /signup`.

use serde_json::{Map, Value};

use super::CodeChallenge;
use crate::domain::error::Result;
use crate::wire::go_json::Object;

/// What a sign-up asks for; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignUp {
    /// `email`.
    pub email: String,
    /// `phone`.
    pub phone: String,
    /// `password`.
    pub password: String,
    /// `data`: becomes part of the account's metadata.
    pub data: Option<Map<String, Value>>,
    /// `channel`: how a text is sent, `sms` or `whatsapp`; `""` means `sms`.
    pub channel: String,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: CodeChallenge,
}

impl SignUp {
    /// Reads the body; 400 `bad_json` if it does not fit.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            email: body.string("email")?,
            phone: body.string("phone")?,
            password: body.string("password")?,
            data: body.opt_object("data")?,
            channel: body.string("channel")?,
            pkce: CodeChallenge::of(&body)?,
        })
    }

    /// Whether neither an address nor a number is given: the anonymous path.
    pub fn is_anonymous(&self) -> bool {
        self.email.is_empty() && self.phone.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_and_others_ignored() {
        let body = r#"{"Email":"a@example.com","password":"x","data":{"n":1},"role":"admin","code_challenge":"c"}"#;
        let read = SignUp::decode(body.as_bytes()).unwrap();
        assert_eq!((read.email.as_str(), read.password.as_str()), ("a@example.com", "x"));
        assert_eq!(read.data.unwrap()["n"], 1);
        assert_eq!(read.pkce, CodeChallenge { challenge: "c".into(), method: String::new() });
    }

    #[test]
    fn without_address_and_number_it_is_anonymous() {
        assert!(SignUp::decode(b"{\"password\":\"x\"}").unwrap().is_anonymous());
        assert!(!SignUp::decode(b"{\"phone\":\"1\"}").unwrap().is_anonymous());
    }

    #[test]
    fn wrong_types_are_bad_json() {
        for body in [r#"{"email":7}"#, r#"{"email":"a@example.com","data":"text"}"#, r#"{"channel":[]}"#] {
            assert_eq!(SignUp::decode(body.as_bytes()).unwrap_err().code(), "bad_json", "{body}");
        }
    }
}
