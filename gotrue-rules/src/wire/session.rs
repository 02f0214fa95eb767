//! A session as JSON (`endpoints.md` §2.4): tokens with the account they are for.

use serde::Serialize;

use super::user::UserJson;

/// The answer of a grant.
#[derive(Debug, Serialize)]
pub struct SessionJson<'a> {
    /// The signed access token.
    pub access_token: &'a str,
    /// Always `bearer`.
    pub token_type: &'static str,
    /// Seconds until the access token expires.
    pub expires_in: i64,
    /// When it expires, seconds since the epoch.
    pub expires_at: i64,
    /// The refresh token.
    pub refresh_token: &'a str,
    /// The account.
    pub user: UserJson<'a>,
    /// The provider's access token, given out once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_token: Option<&'a str>,
    /// The provider's refresh token, given out once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_refresh_token: Option<&'a str>,
    /// Only with the password grant, and there always: why today's rules would refuse the password, or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weak_password: Option<Option<WeakPasswordJson<'a>>>,
}

/// Why a password that is right would be refused if it were new.
#[derive(Debug, Serialize)]
pub struct WeakPasswordJson<'a> {
    /// The messages, joined by a space.
    pub message: &'a str,
    /// `length`, `characters`, `pwned`.
    pub reasons: &'a [&'static str],
}
