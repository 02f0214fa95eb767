//! The `state` parameter of a flow at a provider: the id of a stored flow state.

use std::time::Duration;

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use uuid::Uuid;

use crate::wire::uuid::parse_uuid;

/// The lifetime of a stored PKCE verifier for a provider.
pub const VERIFIER_LIFETIME: Duration = Duration::from_mins(5);

/// Parses the flow state's id, in any UUID spelling.
///
/// # Errors
/// 400 `bad_oauth_callback` if the state is empty, 400 `bad_oauth_state` if it is not a UUID.
pub fn parse(text: &str) -> Result<Uuid> {
    if text.is_empty() {
        return Err(Error::new(ErrorCode::BadOAuthCallback, "OAuth state parameter missing"));
    }
    parse_uuid(text).ok_or_else(|| Error::new(ErrorCode::BadOAuthState, "OAuth state parameter is invalid"))
}

/// The error for a state without a flow: 400 `bad_oauth_state`.
pub fn state_not_found() -> Error {
    Error::new(ErrorCode::BadOAuthState, "OAuth state not found or expired")
}

/// The error for a flow that has been completed: 400 `flow_state_already_used`.
pub fn state_already_used() -> Error {
    Error::new(ErrorCode::FlowStateAlreadyUsed, "State has already been used")
}

/// Checks that a flow is neither expired nor already used.
pub fn validate(created_at: Time, is_used: bool, life: Duration, now: Time) -> Result<()> {
    if now > created_at + life {
        return Err(Error::new(ErrorCode::BadOAuthState, "OAuth state has expired"));
    }
    if is_used { Err(state_already_used()) } else { Ok(()) }
}

/// A stored PKCE verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVerifier {
    /// The provider it was created for, as named in the flow state.
    pub provider: String,
    pub verifier: String,
    /// The creation time.
    pub created_at: Time,
}

/// The PKCE verifier of a flow at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowVerifier {
    /// The flow stored none.
    Absent,
    /// The stored one has been used or deleted.
    Deleted,
    /// The stored one.
    Stored(StoredVerifier),
}

/// Selects the verifier to send with the code.
///
/// # Errors
/// 422 if the verifier is deleted or expired, 400 if it is for another provider or required but absent.
pub fn select_verifier(verifier: FlowVerifier, provider: &str, is_required: bool, now: Time) -> Result<Option<String>> {
    let invalid = |message| Error::new(ErrorCode::OAuthInvalidState, message);
    match verifier {
        FlowVerifier::Absent if is_required => Err(invalid("OAuth PKCE code verifier missing")),
        FlowVerifier::Absent => Ok(None),
        FlowVerifier::Deleted => Err(Error::new(ErrorCode::OAuthClientStateNotFound, "OAuth state not found")),
        FlowVerifier::Stored(stored) if stored.provider != provider => Err(invalid("OAuth provider mismatch")),
        FlowVerifier::Stored(stored) if now > stored.created_at + VERIFIER_LIFETIME => {
            Err(Error::new(ErrorCode::OAuthClientStateExpired, "OAuth state expired"))
        }
        FlowVerifier::Stored(stored) => Ok(Some(stored.verifier)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f";

    #[test]
    fn state_is_a_uuid_in_any_spelling() {
        let id: Uuid = ID.parse().unwrap();
        for text in [ID, &ID.to_uppercase(), &ID.replace('-', ""), &format!("{{{ID}}}"), &format!("urn:uuid:{ID}")] {
            assert_eq!(parse(text).unwrap(), id, "{text}");
        }
        for (text, code) in
            [("", "bad_oauth_callback"), ("abc", "bad_oauth_state"), (&format!("{ID} "), "bad_oauth_state")]
        {
            assert_eq!(parse(text).unwrap_err().code().as_str(), code, "{text}");
        }
    }

    #[test]
    fn flow_is_valid_until_expiry_or_use() {
        let now = Time::UNIX_EPOCH + Duration::from_secs(1000);
        let life = Duration::from_mins(5);
        for (age, is_used, code) in [
            (300, false, ""),
            (301, false, "bad_oauth_state"),
            (301, true, "bad_oauth_state"),
            (0, true, "flow_state_already_used"),
        ] {
            let checked = validate(now - Duration::from_secs(age), is_used, life, now);
            assert_eq!(checked.map_or_else(|error| error.code().as_str(), |()| ""), code, "{age} {is_used}");
        }
    }

    #[test]
    fn verifier_must_match_provider_and_not_be_expired() {
        let now = Time::UNIX_EPOCH + Duration::from_secs(1000);
        let stored = |provider: &str, age| {
            let created_at = now - Duration::from_secs(age);
            FlowVerifier::Stored(StoredVerifier { provider: provider.into(), verifier: "v".into(), created_at })
        };
        for (stored, is_required, expected) in [
            (FlowVerifier::Absent, false, Ok(None)),
            (FlowVerifier::Absent, true, Err("OAuth PKCE code verifier missing")),
            (FlowVerifier::Deleted, true, Err("OAuth state not found")),
            (stored("github", 0), true, Err("OAuth provider mismatch")),
            (stored("x", 301), true, Err("OAuth state expired")),
            (stored("x", 300), true, Ok(Some("v".to_owned()))),
            (stored("x", 300), false, Ok(Some("v".to_owned()))),
        ] {
            let found =
                select_verifier(stored.clone(), "x", is_required, now).map_err(|error| error.message().to_owned());
            assert_eq!(found, expected.map_err(str::to_owned), "{stored:?} {is_required}");
        }
    }
}
