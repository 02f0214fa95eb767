//! The bodies with which an administrator invites somebody or asks for a link.

use serde_json::{Map, Value};

use crate::domain::error::Result;
use crate::wire::go_json::Object;

/// The body of `POST /invite`; `email` is `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Invitation {
    /// `email`.
    pub email: String,
    /// `data`: the metadata of a new account.
    pub data: Option<Map<String, Value>>,
}

impl Invitation {
    /// Reads the body; 400 `bad_json` if it does not fit.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self { email: body.string("email")?, data: body.opt_object("data")? })
    }
}

/// The body of `POST /admin/generate_link`; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerateLink {
    /// `type`.
    pub kind: String,
    /// `email`.
    pub email: String,
    /// `new_email`: of a change of address.
    pub new_email: String,
    /// `password`: of a new account.
    pub password: String,
    /// `data`: metadata of a new or waiting account.
    pub data: Option<Map<String, Value>>,
    /// `redirect_to`: where the link leads in the end.
    pub redirect_to: String,
}

impl GenerateLink {
    /// Reads the body; 400 `bad_json` if it does not fit.
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
    fn members_are_read() {
        let body = br#"{"type":"signup","email":"a@b","password":"p","data":{"a":1},"redirect_to":"http://x"}"#;
        let read = GenerateLink::decode(body).unwrap();
        assert_eq!((read.kind.as_str(), read.email.as_str(), read.password.as_str()), ("signup", "a@b", "p"));
        assert_eq!((read.new_email.as_str(), read.redirect_to.as_str()), ("", "http://x"));
        assert_eq!(read.data.unwrap()["a"], 1);
        assert_eq!(Invitation::decode(br#"{"email":"a@b"}"#).unwrap().email, "a@b");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for body in ["", "{]", r#"{"email":1}"#, r#"{"data":"red"}"#, r#"{"data":[]}"#] {
            assert_eq!(Invitation::decode(body.as_bytes()).unwrap_err().code(), "bad_json", "{body}");
            assert_eq!(GenerateLink::decode(body.as_bytes()).unwrap_err().code(), "bad_json", "{body}");
        }
    }
}
