//! A request to an upload: what its header fields say, and the grant of a signed one.

use http::Method;

use super::location::{Base, UploadId};
use super::metadata::UploadMetadata;
use super::problem::TusProblem;
use crate::caller::signed_url;
use crate::error::Error;
use crate::request::Call;
use crate::storage::Storage;

/// The type of a body with a part of an upload.
const PART_TYPE: &str = "application/offset+octet-stream";

/// Whether the value of a header field has the form that the protocol demands.
type HeaderCheck = fn(&str) -> bool;

/// A request to an upload.
pub(super) struct Request {
    pub(super) call: Call,
    /// Whether the path is that of signed uploads.
    pub(super) is_signed: bool,
    /// What the token of a signed upload says, once it was verified.
    pub(super) grant: Option<Grant>,
}

/// The right to write one object, from a token.
pub(super) struct Grant {
    owner: Option<String>,
    is_upsert: bool,
}

/// Whether a number has the one form that is valid.
fn is_number(text: &str) -> bool {
    parse_number(text).is_some_and(|number| number.to_string() == text)
}

/// A number up to the greatest one that JavaScript can count to.
fn parse_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| *number < 1 << 53)
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.call.header(name)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.header(name).and_then(parse_number)
    }

    pub(super) fn storage(&self) -> &Storage {
        &self.call.storage
    }

    /// Whether the body is a part of an upload.
    pub(super) fn has_part(&self) -> bool {
        self.header("content-type") == Some(PART_TYPE)
    }

    /// Checks the form of the header fields of the protocol.
    pub(super) fn check_headers(&self) -> Result<(), TusProblem> {
        if self.header("tus-resumable").is_none_or(str::is_empty) {
            return Err(TusProblem::version_required());
        }
        let checks: [(&str, HeaderCheck); 9] = [
            ("content-type", |value| value == PART_TYPE),
            ("tus-resumable", |value| value == "1.0.0"),
            ("tus-version", |value| value == "1.0.0"),
            ("upload-concat", |value| value == "partial" || value.starts_with("final;")),
            ("upload-defer-length", |value| value == "1"),
            ("upload-length", is_number),
            ("upload-metadata", |value| UploadMetadata::parse(value).is_some()),
            ("upload-offset", is_number),
            ("x-forwarded-proto", |value| matches!(value, "http" | "https")),
        ];
        let invalid: Vec<&str> = checks
            .iter()
            .filter(|(name, _)| *name != "content-type" || self.call.parts.method == Method::PATCH)
            .filter(|(name, is_valid)| {
                let values = self.call.parts.headers.get_all(*name).iter();
                let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
                !values.is_empty() && !is_valid(&values.join(", "))
            })
            .map(|(name, _)| *name)
            .collect();
        if invalid.is_empty() { Ok(()) } else { Err(TusProblem::invalid_headers(&invalid)) }
    }

    /// Verifies the token of a signed upload.
    pub(super) fn verify_signature(&mut self, id: &UploadId) -> Result<(), TusProblem> {
        let Some(token) = self.header("x-signature").filter(|token| !token.is_empty()) else {
            return Err(Error::invalid_signature("Missing x-signature header").into());
        };
        let (object, now) = (format!("{}/{}", id.bucket, id.name), self.storage().now().timestamp());
        let keys = self.storage().keys();
        let claims = signed_url::verify(&keys, token, signed_url::Scope::Upload, &object, now)?;
        self.grant = Some(Grant {
            owner: claims.get("owner").and_then(|owner| owner.as_str()).map(str::to_owned),
            is_upsert: claims.get("upsert").and_then(serde_json::Value::as_bool).unwrap_or_default(),
        });
        Ok(())
    }

    pub(super) fn owner(&self) -> Option<&str> {
        match &self.grant {
            Some(grant) => grant.owner.as_deref(),
            None => self.call.caller.owner.as_deref(),
        }
    }

    /// Whose open uploads one of this request counts among: those of the user, or without an account those of the network. The
    /// service role has as many as it wants.
    pub(super) fn counted_user(&self) -> Option<String> {
        let is_service = !self.is_signed && self.call.caller.role == self.storage().config().service_role;
        match self.owner() {
            Some(owner) => Some(format!("user {owner}")),
            None if is_service => None,
            None => Some(format!("network {}", self.call.network().unwrap_or_default())),
        }
    }

    pub(super) fn is_upsert(&self) -> bool {
        self.grant.as_ref().map_or_else(|| self.call.is_upsert(), |grant| grant.is_upsert)
    }

    /// The URL of an upload.
    pub(super) fn location(&self, id: &UploadId) -> String {
        let config = self.storage().config();
        let base = Base {
            headers: &self.call.parts.headers,
            public_url: config.public_url.as_deref(),
            path: &config.tus.url_path,
        };
        base.url(id, self.is_signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_form() {
        for (text, expected) in [
            ("0", true),
            ("9007199254740991", true),
            ("9007199254740992", false),
            ("01", false),
            ("+1", false),
            ("-1", false),
            ("1.0", false),
            ("", false),
        ] {
            assert_eq!(is_number(text), expected, "{text}");
        }
    }
}
