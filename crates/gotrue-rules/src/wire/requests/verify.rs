//! The body of `POST /verify`.

use foundation::error::Result;

use crate::wire::go_json::Object;

/// A verification request; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyRequest {
    /// `type`, see [`crate::domain::purpose::VerificationType`].
    pub kind: String,
    /// `token`: the one-time code.
    pub token: String,
    /// `token_hash`: the hash of a link.
    pub token_hash: String,
    pub email: String,
    pub phone: String,
    pub redirect_to: String,
}

impl VerifyRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            kind: body.string("type")?,
            token: body.string("token")?,
            token_hash: body.string("token_hash")?,
            email: body.string("email")?,
            phone: body.string("phone")?,
            redirect_to: body.string("redirect_to")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verify_body_is_decoded() {
        let read = VerifyRequest::decode(br#"{"type":"signup","token_hash":"h","Token":"1"}"#).unwrap();
        assert_eq!((read.kind.as_str(), read.token_hash.as_str(), read.token.as_str()), ("signup", "h", "1"));
    }

    #[test]
    fn numeric_token_is_bad_json() {
        assert_eq!(VerifyRequest::decode(br#"{"token":123456}"#).unwrap_err().code().as_str(), "bad_json");
    }
}
