//! The body of `POST /recover`.

use foundation::error::Result;

use super::pkce::PkceParameters;
use crate::wire::go_json::Object;

/// A password recovery request; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecoverRequest {
    pub email: String,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: PkceParameters,
}

impl RecoverRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self { email: body.string("email")?, pkce: PkceParameters::decode(&body)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recover_body_is_decoded() {
        let read =
            RecoverRequest::decode(br#"{"email":"a@b","code_challenge":"c","code_challenge_method":"s256"}"#).unwrap();
        let pkce = PkceParameters { challenge: "c".into(), method: "s256".into() };
        assert_eq!(read, RecoverRequest { email: "a@b".into(), pkce });
        assert_eq!(RecoverRequest::decode(br#"{"email":[]}"#).unwrap_err().code().as_str(), "bad_json");
    }
}
