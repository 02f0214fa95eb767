//! The body of `PUT /user`.

use foundation::error::Result;
use serde_json::{Map, Value};

use super::pkce::PkceParameters;
use crate::wire::go_json::Object;

/// A user update; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserUpdateRequest {
    pub email: String,
    pub phone: String,
    /// `channel`: the SMS channel, `sms` or `whatsapp`; `""` means `sms`.
    pub channel: String,
    /// `password`; an empty one is present.
    pub password: Option<String>,
    pub current_password: Option<String>,
    /// `nonce`: the code of `GET /reauthenticate`.
    pub nonce: String,
    /// `data`: merged into the user metadata.
    pub data: Option<Map<String, Value>>,
    /// `app_metadata`: for administrators only.
    pub app_metadata: Option<Map<String, Value>>,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: PkceParameters,
}

impl UserUpdateRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
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
            pkce: PkceParameters::decode(&body)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_password_is_present_and_null_is_absent() {
        let password = |body: &[u8]| UserUpdateRequest::decode(body).unwrap().password;
        assert_eq!(password(br#"{"password":""}"#), Some(String::new()));
        assert_eq!(password(br#"{"password":null}"#), None);
        assert_eq!(password(b"{}"), None);
    }

    #[test]
    fn metadata_must_be_objects() {
        assert!(UserUpdateRequest::decode(br#"{"data":{"a":null}}"#).unwrap().data.unwrap()["a"].is_null());
        assert_eq!(UserUpdateRequest::decode(br#"{"data":[]}"#).unwrap_err().code().as_str(), "bad_json");
        assert_eq!(UserUpdateRequest::decode(br#"{"app_metadata":"x"}"#).unwrap_err().code().as_str(), "bad_json");
    }
}
