//! A code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.6).

use uuid::Uuid;

use super::authorization::Authorization;
use crate::domain::error::{Error, Result};
use crate::domain::user::Time;

/// What a client presents with a code; texts are empty where nothing is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Presented<'a> {
    /// `redirect_uri`.
    pub redirect_uri: &'a str,
    /// `code_verifier`.
    pub verifier: &'a str,
    /// `resource`.
    pub resource: &'a str,
}

/// Whether the client may have tokens for the code of this authorization, and whose: age → client → resource and
/// redirect, where they are named → verifier; an OAuth `invalid_grant`. A wrong try leaves the code good.
pub fn redeem(authorization: &Authorization, client: Uuid, came: Presented<'_>, now: Time) -> Result<Uuid> {
    if authorization.is_expired(now) {
        return Err(invalid_grant("Authorization code has expired"));
    }
    if authorization.client_id != client {
        return Err(invalid_grant("Authorization code was not issued for this client"));
    }
    if !came.resource.is_empty() && came.resource != authorization.resource {
        return Err(invalid_grant("Authorization code resource does not match the resource parameter"));
    }
    if !came.redirect_uri.is_empty() && came.redirect_uri != authorization.redirect_uri {
        return Err(invalid_grant("Invalid redirect_uri"));
    }
    verify(authorization, came.verifier)?;
    authorization.user_id.ok_or_else(|| invalid_grant("Authorization code has no associated user"))
}

/// Every authorization of ours has a challenge; one that somebody else wrote into the table may have none.
fn verify(authorization: &Authorization, verifier: &str) -> Result<()> {
    let Some(challenge) = &authorization.challenge else { return Ok(()) };
    let failed = |why: &str| invalid_grant(&format!("PKCE verification failed: {why}"));
    if verifier.is_empty() {
        return Err(failed("code_verifier is required when PKCE challenge is present"));
    }
    challenge.verify(verifier).map_err(|why| failed(why.message()))
}

/// The refusal of a code that is unknown, used, or being used.
pub fn unknown_code() -> Error {
    invalid_grant("Invalid authorization code")
}

/// The refusal of what is no proof.
fn invalid_grant(description: &str) -> Error {
    Error::oauth("invalid_grant", description.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::authorization::Status;
    use super::super::authorization::tests::{ANN, at, authorization};
    use super::*;

    const CLIENT: Uuid = Uuid::from_u128(7);

    fn said(authorization: &Authorization, client: Uuid, came: Presented<'_>, seconds: u64) -> String {
        match redeem(authorization, client, came, at(seconds)) {
            Ok(owner) => owner.to_string(),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn a_code_is_bound_to_client_redirect_resource_and_verifier() {
        let mut bound = authorization(Status::Approved, Some(ANN));
        bound.resource = "https://api.example.com/".into();
        let right = "v".repeat(43);
        let good = Presented { verifier: &right, ..Presented::default() };
        let wrong_verifier = "PKCE verification failed: code challenge does not match previously saved code verifier";
        let ann = ANN.to_string();
        for (client, came, seconds, message) in [
            (CLIENT, good, 1000, ann.as_str()),
            (CLIENT, Presented { redirect_uri: &bound.redirect_uri, resource: &bound.resource, ..good }, 1000, &ann),
            (CLIENT, good, 1001, "Authorization code has expired"),
            (Uuid::from_u128(8), good, 1000, "Authorization code was not issued for this client"),
            (
                CLIENT,
                Presented { redirect_uri: "https://app.example.com/callback/", ..good },
                1000,
                "Invalid redirect_uri",
            ),
            (
                CLIENT,
                Presented { resource: "https://api.example.com", ..good },
                1000,
                "Authorization code resource does not match the resource parameter",
            ),
            (CLIENT, Presented { verifier: &right[1..], ..good }, 1000, wrong_verifier),
            (CLIENT, Presented { verifier: "x", ..good }, 1000, wrong_verifier),
            (
                CLIENT,
                Presented::default(),
                1000,
                "PKCE verification failed: code_verifier is required when PKCE challenge is present",
            ),
        ] {
            assert_eq!(said(&bound, client, came, seconds), message);
        }
    }

    #[test]
    fn a_code_of_nobody_opens_nothing() {
        let right = "v".repeat(43);
        let came = Presented { verifier: &right, ..Presented::default() };
        let nobodys = authorization(Status::Approved, None);
        assert_eq!(said(&nobodys, CLIENT, came, 0), "Authorization code has no associated user");
    }
}
