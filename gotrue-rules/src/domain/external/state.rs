//! The state that a browser carries to a provider and back: the id of a flow that waits for it.

use std::time::Duration;

use uuid::Uuid;

use crate::domain::error::{Error, Result};
use crate::domain::user::Time;

/// How long the verifier that a provider was promised may wait for its code.
pub const VERIFIER_LIFE: Duration = Duration::from_mins(5);

/// The flow that a state names, in any spelling of its id. 400 `bad_oauth_callback` without one, 400 `bad_oauth_state`
/// for anything else.
pub fn read(text: &str) -> Result<Uuid> {
    if text.is_empty() {
        return Err(Error::bad_request("bad_oauth_callback", "OAuth state parameter missing"));
    }
    Uuid::parse_str(text).map_err(|_| Error::bad_request("bad_oauth_state", "OAuth state parameter is invalid"))
}

/// A state that no flow waits for, any more or ever: 400 `bad_oauth_state`.
pub fn unknown() -> Error {
    Error::bad_request("bad_oauth_state", "OAuth state not found or expired")
}

/// A state whose flow has its account already: 400 `flow_state_already_used`.
pub fn used() -> Error {
    Error::bad_request("flow_state_already_used", "State has already been used")
}

/// Whether a flow still waits: its age, then, for one that ends with a code, that nobody came back before.
pub fn check(created_at: Time, is_used: bool, life: Duration, now: Time) -> Result<()> {
    if now > created_at + life {
        return Err(Error::bad_request("bad_oauth_state", "OAuth state has expired"));
    }
    if is_used { Err(used()) } else { Ok(()) }
}

/// The verifier that was kept for a provider, as it is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptVerifier {
    /// The provider it was made for, as the flow names it.
    pub provider: String,
    /// The verifier.
    pub verifier: String,
    /// When it was made.
    pub created_at: Time,
}

/// The verifier to send with a code, out of what the flow kept: 422 where what it kept is gone or too old, 400 where it
/// is another provider's or where one is wanted and none was kept.
pub fn verifier(
    kept: Option<Option<KeptVerifier>>,
    provider: &str,
    is_wanted: bool,
    now: Time,
) -> Result<Option<String>> {
    let invalid = |message| Error::bad_request("oauth_invalid_state", message);
    match kept {
        None if is_wanted => Err(invalid("OAuth PKCE code verifier missing")),
        None => Ok(None),
        Some(None) => Err(Error::unprocessable("oauth_client_state_not_found", "OAuth state not found")),
        Some(Some(kept)) if kept.provider != provider => Err(invalid("OAuth provider mismatch")),
        Some(Some(kept)) if now > kept.created_at + VERIFIER_LIFE => {
            Err(Error::unprocessable("oauth_client_state_expired", "OAuth state expired"))
        }
        Some(Some(kept)) => Ok(Some(kept.verifier)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f";

    #[test]
    fn a_state_is_an_id_in_any_spelling() {
        let id: Uuid = ID.parse().unwrap();
        for text in [ID, &ID.to_uppercase(), &ID.replace('-', ""), &format!("{{{ID}}}"), &format!("urn:uuid:{ID}")] {
            assert_eq!(read(text).unwrap(), id, "{text}");
        }
        for (text, code) in
            [("", "bad_oauth_callback"), ("abc", "bad_oauth_state"), (&format!("{ID} "), "bad_oauth_state")]
        {
            assert_eq!(read(text).unwrap_err().code(), code, "{text}");
        }
    }

    #[test]
    fn a_flow_waits_for_a_while_and_for_one() {
        let now = Time::UNIX_EPOCH + Duration::from_secs(1000);
        let life = Duration::from_mins(5);
        for (age, is_used, code) in [
            (300, false, ""),
            (301, false, "bad_oauth_state"),
            (301, true, "bad_oauth_state"),
            (0, true, "flow_state_already_used"),
        ] {
            let checked = check(now - Duration::from_secs(age), is_used, life, now);
            assert_eq!(checked.map_or_else(|error| error.code(), |()| ""), code, "{age} {is_used}");
        }
    }

    #[test]
    fn a_verifier_is_that_of_the_flow_s_provider_and_fresh() {
        let now = Time::UNIX_EPOCH + Duration::from_secs(1000);
        let kept = |provider: &str, age| {
            let created_at = now - Duration::from_secs(age);
            Some(Some(KeptVerifier { provider: provider.into(), verifier: "v".into(), created_at }))
        };
        for (kept, is_wanted, expected) in [
            (None, false, Ok(None)),
            (None, true, Err("OAuth PKCE code verifier missing")),
            (Some(None), true, Err("OAuth state not found")),
            (kept("github", 0), true, Err("OAuth provider mismatch")),
            (kept("x", 301), true, Err("OAuth state expired")),
            (kept("x", 300), true, Ok(Some("v".to_owned()))),
            (kept("x", 300), false, Ok(Some("v".to_owned()))),
        ] {
            let found = verifier(kept.clone(), "x", is_wanted, now).map_err(|error| error.message().to_owned());
            assert_eq!(found, expected.map_err(str::to_owned), "{kept:?} {is_wanted}");
        }
    }
}
