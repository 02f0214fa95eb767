//! The body of `POST /recover`.

use super::CodeChallenge;
use crate::domain::error::Result;
use crate::wire::go_json::Object;

/// Who wants to get at a new password; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recover {
    /// `email`.
    pub email: String,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: CodeChallenge,
}

impl Recover {
    /// Reads the body; 400 `bad_json` if it does not fit.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self { email: body.string("email")?, pkce: CodeChallenge::of(&body)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read() {
        let read = Recover::decode(br#"{"email":"a@b","code_challenge":"c","code_challenge_method":"s256"}"#).unwrap();
        let pkce = CodeChallenge { challenge: "c".into(), method: "s256".into() };
        assert_eq!(read, Recover { email: "a@b".into(), pkce });
        assert_eq!(Recover::decode(br#"{"email":[]}"#).unwrap_err().code(), "bad_json");
    }
}
