//! Bodies of `POST /invite` and `POST /admin/generate_link`.

use foundation::error::Result;
use serde_json::{Map, Value};

use crate::wire::go_json::Object;

/// The body of `POST /invite`; `email` is `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InviteRequest {
    pub email: String,
    /// `data`: the metadata of a new user.
    pub data: Option<Map<String, Value>>,
}

impl InviteRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self { email: body.string("email")?, data: body.opt_object("data")? })
    }
}

/// The body of `POST /admin/generate_link`; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerateLinkRequest {
    /// `type`.
    pub kind: String,
    pub email: String,
    /// `new_email`: for an email change.
    pub new_email: String,
    /// `password`: of a new user.
    pub password: String,
    /// `data`: metadata of a new or unconfirmed user.
    pub data: Option<Map<String, Value>>,
    /// `redirect_to`: the final redirect target of the link.
    pub redirect_to: String,
}

impl GenerateLinkRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            kind: body.string("type")?,
            email: body.string("email")?,
            new_email: body.string("new_email")?,
            password: body.string("password")?,
            data: body.opt_object("data")?,
            redirect_to: body.string("redirect_to")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitation_bodies_are_decoded() {
        let body = br#"{"type":"signup","email":"a@b","password":"p","data":{"a":1},"redirect_to":"http://x"}"#;
        let read = GenerateLinkRequest::decode(body).unwrap();
        assert_eq!((read.kind.as_str(), read.email.as_str(), read.password.as_str()), ("signup", "a@b", "p"));
        assert_eq!((read.new_email.as_str(), read.redirect_to.as_str()), ("", "http://x"));
        assert_eq!(read.data.unwrap()["a"], 1);
        assert_eq!(InviteRequest::decode(br#"{"email":"a@b"}"#).unwrap().email, "a@b");
    }

    #[test]
    fn malformed_bodies_are_rejected() {
        for body in ["", "{]", r#"{"email":1}"#, r#"{"data":"red"}"#, r#"{"data":[]}"#] {
            assert_eq!(InviteRequest::decode(body.as_bytes()).unwrap_err().code().as_str(), "bad_json", "{body}");
            assert_eq!(GenerateLinkRequest::decode(body.as_bytes()).unwrap_err().code().as_str(), "bad_json", "{body}");
        }
    }
}
