//! The body of `POST /magiclink`.

use serde_json::{Map, Value};

use super::CodeChallenge;
use crate::domain::error::{self, Error};
use crate::wire::go_json::{self, Object};

/// Who wants to be mailed a link to sign in; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MagicLink {
    /// `email`.
    pub email: String,
    /// `data`: becomes part of a new account's metadata.
    pub data: Option<Map<String, Value>>,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: CodeChallenge,
}

impl MagicLink {
    /// Reads the body; 400 `bad_json` in words of this endpoint's own if it does not fit. Only the first JSON value
    /// counts, as in the reference: the body may be too large behind it. `is_cut` says that only the beginning of
    /// the body is here.
    pub fn decode(body: &[u8], is_cut: bool) -> error::Result<Self> {
        Self::read(body).map_err(|error| {
            let words = if is_cut { "http: request body too large".to_owned() } else { error.to_string() };
            Error::bad_request("bad_json", format!("Could not read verification params: {words}"))
        })
    }

    fn read(body: &[u8]) -> Result<Self, go_json::Error> {
        let body = Object::parse_first(body)?;
        Ok(Self { email: body.string("email")?, data: body.opt_object("data")?, pkce: CodeChallenge::of(&body)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_the_first_value_are_read() {
        let read = MagicLink::decode(br#"{"email":"a@b","data":{"n":1}} {"email":"c@d"}"#, false).unwrap();
        assert_eq!((read.email.as_str(), &read.data.unwrap()["n"]), ("a@b", &serde_json::json!(1)));
    }

    #[test]
    fn complaints_are_in_words_of_their_own() {
        for body in ["", "{", "[]", r#"{"email":1}"#] {
            let refused = MagicLink::decode(body.as_bytes(), false).unwrap_err();
            assert_eq!(refused.code(), "bad_json", "{body}");
            assert!(refused.message().starts_with("Could not read verification params: "), "{body}");
        }
    }
}
