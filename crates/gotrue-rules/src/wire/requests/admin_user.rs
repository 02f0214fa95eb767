//! Bodies of `POST /admin/users`, `PUT` and `DELETE /admin/users/{id}`.

use foundation::error::Result;
use serde_json::{Map, Value};

use crate::wire::go_json::Object;

/// User data of an administrator's request; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdminUserRequest {
    /// `id`: of a new user.
    pub id: String,
    pub aud: String,
    pub role: String,
    pub email: String,
    pub phone: String,
    /// `password`; an empty one is present.
    pub password: Option<String>,
    /// `password_hash`: a hash computed elsewhere.
    pub password_hash: String,
    /// `email_confirm`: the address is confirmed.
    pub email_confirm: bool,
    /// `phone_confirm`: the number is confirmed.
    pub phone_confirm: bool,
    pub user_metadata: Option<Map<String, Value>>,
    pub app_metadata: Option<Map<String, Value>>,
    /// `ban_duration`: a Go duration, or `none`.
    pub ban_duration: String,
}

impl AdminUserRequest {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            id: body.string("id")?,
            aud: body.string("aud")?,
            role: body.string("role")?,
            email: body.string("email")?,
            phone: body.string("phone")?,
            password: body.opt_string("password")?,
            password_hash: body.string("password_hash")?,
            email_confirm: body.bool("email_confirm")?,
            phone_confirm: body.bool("phone_confirm")?,
            user_metadata: body.opt_object("user_metadata")?,
            app_metadata: body.opt_object("app_metadata")?,
            ban_duration: body.string("ban_duration")?,
        })
    }
}

/// The body of `DELETE /admin/users/{id}`, which may be absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdminUserDeletion {
    /// `should_soft_delete`: the row stays, without personal data.
    pub is_soft: bool,
}

impl AdminUserDeletion {
    /// Decodes the body; 400 `bad_json` if it is present and malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self { is_soft: Object::parse(body)?.bool("should_soft_delete")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletion_body_is_optional() {
        assert!(!AdminUserDeletion::decode(b"").unwrap().is_soft);
        assert!(!AdminUserDeletion::decode(b"{}").unwrap().is_soft);
        assert!(AdminUserDeletion::decode(br#"{"should_soft_delete":true}"#).unwrap().is_soft);
        for body in ["{", r#"{"should_soft_delete":"yes"}"#, " "] {
            assert_eq!(AdminUserDeletion::decode(body.as_bytes()).unwrap_err().code().as_str(), "bad_json", "{body:?}");
        }
    }

    #[test]
    fn admin_user_body_is_decoded() {
        let body = r#"{"email":"a@b","email_confirm":true,"password":"","app_metadata":{"a":1},"ban_duration":"24h"}"#;
        let read = AdminUserRequest::decode(body.as_bytes()).unwrap();
        assert_eq!((read.email.as_str(), read.email_confirm, read.phone_confirm), ("a@b", true, false));
        assert_eq!((read.password.as_deref(), read.ban_duration.as_str()), (Some(""), "24h"));
        assert_eq!(read.app_metadata.unwrap()["a"], 1);
        assert_eq!(AdminUserRequest::decode(br#"{"email_confirm":"yes"}"#).unwrap_err().code().as_str(), "bad_json");
    }
}
