//! The body of `POST /magiclink`.

use foundation::error::{self, Error, ErrorCode};
use serde_json::{Map, Value};

use super::pkce::PkceParameters;
use crate::wire::go_json::{self, Object};

/// A request for a magic link; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MagicLinkRequest {
    pub email: String,
    /// `data`: metadata of a new user.
    pub data: Option<Map<String, Value>>,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: PkceParameters,
}

impl MagicLinkRequest {
    /// Decodes the body; 400 `bad_json`, with the wording of this endpoint, if it is malformed.
    ///
    /// As in GoTrue, data after the first JSON value is ignored, even if the body is too large.
    /// `is_truncated`: the body exceeds the limit and is cut off.
    pub fn decode(body: &[u8], is_truncated: bool) -> error::Result<Self> {
        Self::parse(body).map_err(|error| {
            let words = if is_truncated { "http: request body too large".to_owned() } else { error.to_string() };
            Error::new(ErrorCode::BadJson, format!("Could not read verification params: {words}"))
        })
    }

    fn parse(body: &[u8]) -> Result<Self, go_json::GoJsonError> {
        let body = Object::parse_first(body)?;
        Ok(Self { email: body.string("email")?, data: body.opt_object("data")?, pkce: PkceParameters::decode(&body)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_json_value_is_decoded() {
        let read = MagicLinkRequest::decode(br#"{"email":"a@b","data":{"n":1}} {"email":"c@d"}"#, false).unwrap();
        assert_eq!((read.email.as_str(), &read.data.unwrap()["n"]), ("a@b", &serde_json::json!(1)));
    }

    #[test]
    fn errors_have_wording_of_this_endpoint() {
        for body in ["", "{", "[]", r#"{"email":1}"#] {
            let refused = MagicLinkRequest::decode(body.as_bytes(), false).unwrap_err();
            assert_eq!(refused.code().as_str(), "bad_json", "{body}");
            assert!(refused.message().starts_with("Could not read verification params: "), "{body}");
        }
    }
}
