//! The body of `POST /verify`.

use crate::domain::error::Result;
use crate::wire::go_json::Object;

/// What is to be verified; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verify {
    /// `type`, a wire spelling of `domain/purpose.rs`.
    pub kind: String,
    /// `token`: the short code.
    pub token: String,
    /// `token_hash`: what a link carries.
    pub token_hash: String,
    /// `email`.
    pub email: String,
    /// `phone`.
    pub phone: String,
    /// `redirect_to`.
    pub redirect_to: String,
}

impl Verify {
    /// Reads the body; 400 `bad_json` if it does not fit.
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
    fn members_are_read() {
        let read = Verify::decode(br#"{"type":"signup","token_hash":"h","Token":"1"}"#).unwrap();
        assert_eq!((read.kind.as_str(), read.token_hash.as_str(), read.token.as_str()), ("signup", "h", "1"));
    }

    #[test]
    fn a_number_as_token_is_bad_json() {
        assert_eq!(Verify::decode(br#"{"token":123456}"#).unwrap_err().code(), "bad_json");
    }
}
