//! Exchange of an authorization code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.6).

use foundation::error::{Error, OAuthErrorCode, Result};
use foundation::time::Time;
use uuid::Uuid;

use super::authorization::Authorization;

/// Parameters of a code exchange; empty where absent.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExchangeParameters<'a> {
    pub redirect_uri: &'a str,
    /// `code_verifier`.
    pub verifier: &'a str,
    pub resource: &'a str,
}

/// Verifies an exchange and returns the user's id; errors are OAuth `invalid_grant`.
///
/// Order: age, client, resource and redirect URI where given, verifier. A failed attempt does not consume the code.
pub fn verify_exchange(
    authorization: &Authorization,
    client: Uuid,
    parameters: ExchangeParameters<'_>,
    now: Time,
) -> Result<Uuid> {
    if authorization.is_expired(now) {
        return Err(invalid_grant("Authorization code has expired"));
    }
    if authorization.client_id != client {
        return Err(invalid_grant("Authorization code was not issued for this client"));
    }
    if !parameters.resource.is_empty() && parameters.resource != authorization.resource {
        return Err(invalid_grant("Authorization code resource does not match the resource parameter"));
    }
    if !parameters.redirect_uri.is_empty() && parameters.redirect_uri != authorization.redirect_uri {
        return Err(invalid_grant("Invalid redirect_uri"));
    }
    verify_challenge(authorization, parameters.verifier)?;
    authorization.user_id.ok_or_else(|| invalid_grant("Authorization code has no associated user"))
}

/// Verifies the PKCE verifier. Only a row that another program inserted has no challenge.
fn verify_challenge(authorization: &Authorization, verifier: &str) -> Result<()> {
    let Some(challenge) = &authorization.challenge else { return Ok(()) };
    let failed = |why: &str| invalid_grant(&format!("PKCE verification failed: {why}"));
    if verifier.is_empty() {
        return Err(failed("code_verifier is required when PKCE challenge is present"));
    }
    challenge.verify(verifier).map_err(|why| failed(why.message()))
}

/// Error of a code that is unknown, used, or in use by another request.
pub fn unknown_code() -> Error {
    invalid_grant("Invalid authorization code")
}

/// Builds an `invalid_grant`.
fn invalid_grant(description: &str) -> Error {
    Error::oauth(OAuthErrorCode::InvalidGrant, description.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::authorization::AuthorizationStatus;
    use super::super::authorization::tests::{ANN, at, authorization};
    use super::*;

    const CLIENT: Uuid = Uuid::from_u128(7);

    fn exchange_error(
        authorization: &Authorization,
        client: Uuid,
        parameters: ExchangeParameters<'_>,
        seconds: u64,
    ) -> String {
        match verify_exchange(authorization, client, parameters, at(seconds)) {
            Ok(owner) => owner.to_string(),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn code_is_bound_to_client_redirect_uri_resource_and_verifier() {
        let mut bound = authorization(AuthorizationStatus::Approved, Some(ANN));
        bound.resource = "https://api.example.com/".into();
        let right = "v".repeat(43);
        let good = ExchangeParameters { verifier: &right, ..ExchangeParameters::default() };
        let wrong_verifier = "PKCE verification failed: code challenge does not match previously saved code verifier";
        let ann = ANN.to_string();
        for (client, parameters, seconds, message) in [
            (CLIENT, good, 1000, ann.as_str()),
            (
                CLIENT,
                ExchangeParameters { redirect_uri: &bound.redirect_uri, resource: &bound.resource, ..good },
                1000,
                &ann,
            ),
            (CLIENT, good, 1001, "Authorization code has expired"),
            (Uuid::from_u128(8), good, 1000, "Authorization code was not issued for this client"),
            (
                CLIENT,
                ExchangeParameters { redirect_uri: "https://app.example.com/callback/", ..good },
                1000,
                "Invalid redirect_uri",
            ),
            (
                CLIENT,
                ExchangeParameters { resource: "https://api.example.com", ..good },
                1000,
                "Authorization code resource does not match the resource parameter",
            ),
            (CLIENT, ExchangeParameters { verifier: &right[1..], ..good }, 1000, wrong_verifier),
            (CLIENT, ExchangeParameters { verifier: "x", ..good }, 1000, wrong_verifier),
            (
                CLIENT,
                ExchangeParameters::default(),
                1000,
                "PKCE verification failed: code_verifier is required when PKCE challenge is present",
            ),
        ] {
            assert_eq!(exchange_error(&bound, client, parameters, seconds), message);
        }
    }

    #[test]
    fn code_without_user_is_rejected() {
        let right = "v".repeat(43);
        let parameters = ExchangeParameters { verifier: &right, ..ExchangeParameters::default() };
        let without_user = authorization(AuthorizationStatus::Approved, None);
        assert_eq!(exchange_error(&without_user, CLIENT, parameters, 0), "Authorization code has no associated user");
    }
}
