//! The bodies of the routes of passkeys.

use serde_json::Value;
use uuid::Uuid;

use crate::domain::error::{Error, Result};
use crate::wire::go_json::Object;

/// What an authenticator says to a challenge.
#[derive(Debug, Clone, PartialEq)]
pub struct PasskeyVerification {
    /// `challenge_id`.
    pub challenge_id: Uuid,
    /// `credential`: what the browser gave, of whatever form.
    pub credential: Value,
}

impl PasskeyVerification {
    /// Reads the body; 400 `bad_json` if it does not fit, 400 `validation_failed` for a member that is missing.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        let challenge_id = body.string("challenge_id")?;
        if challenge_id.is_empty() {
            return Err(Error::invalid("challenge_id is required"));
        }
        let credential = body.raw("credential").ok_or_else(|| Error::invalid("credential is required"))?;
        let challenge_id =
            Uuid::parse_str(&challenge_id).map_err(|_| Error::invalid("challenge_id must be a valid UUID"))?;
        Ok(Self { challenge_id, credential: credential.clone() })
    }
}

/// The body of `PATCH /passkeys/{id}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyUpdate {
    /// `friendly_name`; `""` if absent.
    pub friendly_name: String,
}

impl PasskeyUpdate {
    /// Reads the body; 400 `bad_json` if it does not fit.
    pub fn decode(body: &[u8]) -> Result<Self> {
        Ok(Self { friendly_name: Object::parse(body)?.string("friendly_name")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_missed_in_their_order() {
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
    fn the_credential_may_be_anything() {
        let body = r#"{"challenge_id":"9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa","credential":"text"}"#;
        assert_eq!(PasskeyVerification::decode(body.as_bytes()).unwrap().credential, "text");
    }

    #[test]
    fn a_name_is_a_text() {
        assert_eq!(PasskeyUpdate::decode(br#"{"friendly_name":1}"#).unwrap_err().code(), "bad_json");
        assert_eq!(PasskeyUpdate::decode(b"{}").unwrap().friendly_name, "");
    }
}
