//! Bodies of the passkey endpoints.

use foundation::error::{Error, Result};
use serde_json::Value;
use uuid::Uuid;

use crate::wire::go_json::Object;
use crate::wire::uuid::parse_uuid;

/// The body of a registration or authentication verification.
#[derive(Debug, Clone, PartialEq)]
pub struct PasskeyVerification {
    pub challenge_id: Uuid,
    /// `credential`, not validated.
    pub credential: Value,
}

impl PasskeyVerification {
    /// Parses the body; 400 `bad_json` if it is malformed, 400 `validation_failed` if a member is missing.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        let challenge_id = body.string("challenge_id")?;
        if challenge_id.is_empty() {
            return Err(Error::invalid("challenge_id is required"));
        }
        let credential = body.raw("credential").ok_or_else(|| Error::invalid("credential is required"))?;
        let challenge_id =
            parse_uuid(&challenge_id).ok_or_else(|| Error::invalid("challenge_id must be a valid UUID"))?;
        Ok(Self { challenge_id, credential: credential.clone() })
    }
}

/// The body of `PATCH /passkeys/{id}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyUpdate {
    /// `friendly_name`; empty if absent.
    pub friendly_name: String,
}

impl PasskeyUpdate {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        Ok(Self { friendly_name: Object::parse(body)?.string("friendly_name")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_members_are_reported_in_order() {
        for (body, message) in [
            ("{}", "challenge_id is required"),
            (r#"{"credential":{}}"#, "challenge_id is required"),
            (r#"{"challenge_id":"x"}"#, "credential is required"),
            (r#"{"challenge_id":"x","credential":null}"#, "challenge_id must be a valid UUID"),
            (r#"{"challenge_id":"x","credential":{}}"#, "challenge_id must be a valid UUID"),
        ] {
            assert_eq!(PasskeyVerification::decode(body.as_bytes()).unwrap_err().message(), message);
        }
    }

    #[test]
    fn credential_is_not_validated() {
        let body = r#"{"challenge_id":"9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa","credential":"text"}"#;
        assert_eq!(PasskeyVerification::decode(body.as_bytes()).unwrap().credential, "text");
    }

    #[test]
    fn friendly_name_must_be_string() {
        assert_eq!(PasskeyUpdate::decode(br#"{"friendly_name":1}"#).unwrap_err().code().as_str(), "bad_json");
        assert_eq!(PasskeyUpdate::decode(b"{}").unwrap().friendly_name, "");
    }
}
