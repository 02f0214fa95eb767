//! Token responses: tokens with their user.

use serde::Serialize;

use super::user::UserJson;

/// The response of a grant.
#[derive(Debug, Serialize)]
pub struct SessionJson<'a> {
    /// The signed access token.
    pub access_token: &'a str,
    /// Always `bearer`.
    pub token_type: &'static str,
    /// Seconds until the access token expires.
    pub expires_in: i64,
    /// Expiry of the access token, seconds since the epoch.
    pub expires_at: i64,
    /// The refresh token.
    pub refresh_token: &'a str,
    /// The user.
    pub user: UserJson<'a>,
    /// The provider's access token, returned once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_token: Option<&'a str>,
    /// The provider's refresh token, returned once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_refresh_token: Option<&'a str>,
    /// Only in the password grant: why the current rules reject the password, else `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weak_password: Option<Option<WeakPasswordJson<'a>>>,
}

/// Why the current strength rules reject a correct password.
#[derive(Debug, Serialize)]
pub struct WeakPasswordJson<'a> {
    /// The messages, joined by a space.
    pub message: &'a str,
    /// `length`, `characters`, `pwned`.
    pub reasons: &'a [&'static str],
}
