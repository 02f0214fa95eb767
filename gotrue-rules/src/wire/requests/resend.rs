//! The body of `POST /resend`.

use super::CodeChallenge;
use crate::domain::error::Result;
use crate::wire::go_json::Object;

/// What is to be sent once more, and to whom; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resend {
    /// `type`.
    pub kind: String,
    /// `email`.
    pub email: String,
    /// `phone`.
    pub phone: String,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: CodeChallenge,
}

impl Resend {
    /// Reads the body; 400 `bad_json` if it does not fit.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            kind: body.string("type")?,
            email: body.string("email")?,
            phone: body.string("phone")?,
            pkce: CodeChallenge::of(&body)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read() {
        let read = Resend::decode(br#"{"type":"sms","phone":"1","code_challenge_method":"s256"}"#).unwrap();
        assert_eq!((read.kind.as_str(), read.phone.as_str(), read.pkce.method.as_str()), ("sms", "1", "s256"));
        assert_eq!(Resend::decode(br#"{"type":5}"#).unwrap_err().code(), "bad_json");
    }
}
