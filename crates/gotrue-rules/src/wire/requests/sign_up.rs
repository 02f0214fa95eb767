//! The body of `POST /signup`.

use foundation::error::Result;
use serde_json::{Map, Value};

use super::pkce::PkceParameters;
use crate::wire::go_json::Object;

/// A sign-up request; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignUpRequest {
    pub email: String,
    pub phone: String,
    pub password: String,
    /// `data`: metadata of the user.
    pub data: Option<Map<String, Value>>,
    /// `channel`: the SMS channel, `sms` or `whatsapp`; `""` means `sms`.
    pub channel: String,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: PkceParameters,
}

impl SignUpRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            email: body.string("email")?,
            phone: body.string("phone")?,
            password: body.string("password")?,
            data: body.opt_object("data")?,
            channel: body.string("channel")?,
            pkce: PkceParameters::decode(&body)?,
        })
    }

    /// Whether the request has neither address nor number: an anonymous sign-up.
    pub fn is_anonymous(&self) -> bool {
        self.email.is_empty() && self.phone.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_are_ignored() {
        let body = r#"{"Email":"a@example.com","password":"x","data":{"n":1},"role":"admin","code_challenge":"c"}"#;
        let read = SignUpRequest::decode(body.as_bytes()).unwrap();
        assert_eq!((read.email.as_str(), read.password.as_str()), ("a@example.com", "x"));
        assert_eq!(read.data.unwrap()["n"], 1);
        assert_eq!(read.pkce, PkceParameters { challenge: "c".into(), method: String::new() });
    }

    #[test]
    fn request_without_contact_is_anonymous() {
        assert!(SignUpRequest::decode(b"{\"password\":\"x\"}").unwrap().is_anonymous());
        assert!(!SignUpRequest::decode(b"{\"phone\":\"1\"}").unwrap().is_anonymous());
    }

    #[test]
    fn wrong_types_are_bad_json() {
        for body in [r#"{"email":7}"#, r#"{"email":"a@example.com","data":"text"}"#, r#"{"channel":[]}"#] {
            assert_eq!(SignUpRequest::decode(body.as_bytes()).unwrap_err().code().as_str(), "bad_json", "{body}");
        }
    }
}
