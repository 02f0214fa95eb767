//! The body of `POST /resend`.

use foundation::error::Result;

use super::pkce::PkceParameters;
use crate::wire::go_json::Object;

/// A request to resend a message; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResendRequest {
    /// `type`.
    pub kind: String,
    pub email: String,
    pub phone: String,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: PkceParameters,
}

impl ResendRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            kind: body.string("type")?,
            email: body.string("email")?,
            phone: body.string("phone")?,
            pkce: PkceParameters::decode(&body)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resend_body_is_decoded() {
        let read = ResendRequest::decode(br#"{"type":"sms","phone":"1","code_challenge_method":"s256"}"#).unwrap();
        assert_eq!((read.kind.as_str(), read.phone.as_str(), read.pkce.method.as_str()), ("sms", "1", "s256"));
        assert_eq!(ResendRequest::decode(br#"{"type":5}"#).unwrap_err().code().as_str(), "bad_json");
    }
}
