//! The body of `PUT /user`.

use serde_json::{Map, Value};

use super::CodeChallenge;
use crate::domain::error::Result;
use crate::wire::go_json::Object;

/// What is to change; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserUpdate {
    /// `email`.
    pub email: String,
    /// `phone`.
    pub phone: String,
    /// `channel`: how a text is sent, `sms` or `whatsapp`; `""` means `sms`.
    pub channel: String,
    /// `password`; an empty one is given, not absent.
    pub password: Option<String>,
    /// `current_password`.
    pub current_password: Option<String>,
    /// `nonce`: the code of `GET /reauthenticate`.
    pub nonce: String,
    /// `data`: merged into the account's metadata.
    pub data: Option<Map<String, Value>>,
    /// `app_metadata`: for administrators only.
    pub app_metadata: Option<Map<String, Value>>,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: CodeChallenge,
}

impl UserUpdate {
    /// Reads the body; 400 `bad_json` if it does not fit.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            email: body.string("email")?,
            phone: body.string("phone")?,
            channel: body.string("channel")?,
            password: body.opt_string("password")?,
            current_password: body.opt_string("current_password")?,
            nonce: body.string("nonce")?,
            data: body.opt_object("data")?,
            app_metadata: body.opt_object("app_metadata")?,
            pkce: CodeChallenge::of(&body)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_password_is_given_and_null_is_not() {
        let password = |body: &[u8]| UserUpdate::decode(body).unwrap().password;
        assert_eq!(password(br#"{"password":""}"#), Some(String::new()));
        assert_eq!(password(br#"{"password":null}"#), None);
        assert_eq!(password(b"{}"), None);
    }

    #[test]
    fn metadata_must_be_objects() {
        assert!(UserUpdate::decode(br#"{"data":{"a":null}}"#).unwrap().data.unwrap()["a"].is_null());
        assert_eq!(UserUpdate::decode(br#"{"data":[]}"#).unwrap_err().code(), "bad_json");
        assert_eq!(UserUpdate::decode(br#"{"app_metadata":"x"}"#).unwrap_err().code(), "bad_json");
    }
}
