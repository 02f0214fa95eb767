//! Refresh tokens: parsing of both versions, and the rotation rules.

mod signed;

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use foundation::error::{Error, ErrorCode, OAuthErrorCode, Result};
use foundation::time::Time;
use uuid::Uuid;

use super::ban::{BannedAttempt, require_not_banned};
use super::policy::RefreshPolicy;
use super::session::Session;
use super::session_rules::last_refreshed_at;
use super::user::User;

pub use self::signed::{RefreshTokenKey, SignedToken};

/// A refresh token by its format, independent of the configured version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresentedRefreshToken {
    /// Version 1: twelve characters, stored in `auth.refresh_tokens`.
    Stored(String),
    /// Version 2: session id and counter, signed with the session's key.
    Signed(SignedToken),
}

impl PresentedRefreshToken {
    /// Parses a token; 400 `validation_failed` if it has neither format, without a lookup.
    pub fn parse(token: &str) -> Result<Self> {
        let is_row = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        match token.len() {
            12 if token.bytes().all(is_row) => Ok(Self::Stored(token.to_owned())),
            13.. => SignedToken::decode(token).map(Self::Signed).ok_or_else(malformed_token),
            _ => Err(malformed_token()),
        }
    }
}

fn malformed_token() -> Error {
    Error::invalid("Refresh token is not valid")
}

/// Error of a token that does not exist, or whose signature is invalid.
pub fn token_not_found() -> Error {
    Error::new(ErrorCode::RefreshTokenNotFound, "Invalid Refresh Token: Refresh Token Not Found")
}

/// Error of a token that was used before.
pub fn already_used() -> Error {
    Error::new(ErrorCode::RefreshTokenAlreadyUsed, "Invalid Refresh Token: Already Used")
}

/// Error of a token whose lock was not available within five seconds.
pub fn too_many_concurrent_requests() -> Error {
    let message = "Too many concurrent token refresh requests on the same session or refresh token";
    Error::new(ErrorCode::Conflict, message)
}

/// Checks user and session: a ban first, then whether the session exists.
pub fn require_active_session<'a>(user: &User, session: Option<&'a Session>, now: Time) -> Result<&'a Session> {
    require_not_banned(user, BannedAttempt::Refresh, now)?;
    session.ok_or_else(|| Error::http(400, ErrorCode::SessionNotFound, "Invalid Refresh Token: No Valid Session Found"))
}

/// Checks that the session belongs to the OAuth client, or to none; else an OAuth `invalid_client`.
pub fn require_same_client(session: &Session, client: Option<Uuid>) -> Result<()> {
    let given = |id: Option<Uuid>| id.filter(|id| !id.is_nil());
    let message = match (given(session.oauth_client_id), given(client)) {
        (None, None) => return Ok(()),
        (Some(owner), Some(client)) if owner == client => return Ok(()),
        (Some(_), None) => "Client authentication required for OAuth session",
        (Some(_), Some(_)) => "Client does not match the session's OAuth client",
        (None, Some(_)) => "Client authentication not allowed for non-OAuth session",
    };
    Err(Error::oauth(OAuthErrorCode::InvalidClient, message))
}

/// A version 1 token as read under the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRefreshToken<'a> {
    pub token: &'a str,
    pub revoked: bool,
    /// `updated_at`: the revocation time of a revoked token.
    pub updated_at: Time,
    /// The newest active token of the session, and its parent.
    pub active: Option<(&'a str, Option<&'a str>)>,
}

/// Decision about a version 1 token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredTokenDecision {
    /// The token is revoked, and a child is issued.
    Rotate,
    /// The token is the parent of the active token, which the client did not receive.
    /// The active token is returned, no token rows change, and there is no time limit.
    ReturnActive(String),
    /// The token was reused: all tokens of the session are revoked, the session stays; [`already_used`].
    RevokeFamily,
    /// The token was reused: [`already_used`], and nothing changes.
    Reject,
}

/// Decides about a version 1 token.
pub fn decide_stored(row: &StoredRefreshToken<'_>, policy: &RefreshPolicy, now: Time) -> StoredTokenDecision {
    if !row.revoked {
        return StoredTokenDecision::Rotate;
    }
    match row.active {
        Some((active, Some(parent))) if parent == row.token => StoredTokenDecision::ReturnActive(active.to_owned()),
        // A reuse has revoked the whole session: no token of it has a successor that a client waits for.
        None if policy.is_revocation_final && policy.rotation_enabled => StoredTokenDecision::Reject,
        _ if now <= row.updated_at + policy.reuse_interval => StoredTokenDecision::Rotate,
        _ if policy.rotation_enabled => StoredTokenDecision::RevokeFamily,
        _ => StoredTokenDecision::Reject,
    }
}

/// Decision about a version 2 token. Every counter is that of the returned token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedTokenDecision {
    /// The counter is incremented.
    Advance {
        /// The new counter.
        counter: i64,
    },
    /// The token was reused, but the client may receive the current one again.
    ReturnCurrent {
        /// The current counter.
        counter: i64,
        /// The reason: the value of `sb-auth-refresh-token-reuse-cause`.
        cause: String,
    },
    /// The token was reused: the session is deleted; [`already_used`].
    /// The response has `sb-auth-refresh-token-rotated: true`.
    EndSession,
    /// The token was reused: [`already_used`], and nothing changes.
    Refuse,
    /// The session never reached this counter: [`counter_not_issued`].
    CounterNotIssued,
}

/// Error of a counter that the session has not reached.
pub fn counter_not_issued() -> Error {
    Error::invalid("Invalid Refresh Token: Not Issued By This Server")
}

/// Decides about a version 2 token with a verified signature. A session without a counter is at 0.
pub fn decide_signed(token: &SignedToken, session: &Session, policy: &RefreshPolicy, now: Time) -> SignedTokenDecision {
    let counter = session.refresh_token_counter.unwrap_or_default();
    let behind = i128::from(counter) - i128::from(token.counter());
    if behind < 0 {
        return SignedTokenDecision::CounterNotIssued;
    }
    if behind == 0 {
        return SignedTokenDecision::Advance { counter: counter.saturating_add(1) };
    }
    let causes = [
        (is_within(now, last_refreshed_at(session, None), policy.reuse_interval), "concurrent-refresh"),
        (behind == 1, "fail-to-save"),
        (policy.allow_reuse, "always-allow"),
    ];
    let causes: Vec<&str> = causes.into_iter().filter_map(|(holds, cause)| holds.then_some(cause)).collect();
    if !causes.is_empty() {
        SignedTokenDecision::ReturnCurrent { counter, cause: causes.join(",") }
    } else if policy.rotation_enabled {
        SignedTokenDecision::EndSession
    } else {
        SignedTokenDecision::Refuse
    }
}

fn is_within(now: Time, then: Time, interval: Duration) -> bool {
    (now - then).abs().to_std().is_ok_and(|elapsed| elapsed < interval)
}

/// Whether a refresh upgrades the session from version 1 to version 2.
/// A percentage selects sessions by their ids, not individual refreshes.
pub fn should_upgrade(session: Uuid, policy: &RefreshPolicy) -> bool {
    let share = u32::from(policy.upgrade_percentage);
    let place = digest(&SHA256, session.as_bytes());
    let place = place.as_ref().iter().take(4).fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
    policy.algorithm_version == 2 && place % 100 < share
}

#[cfg(test)]
mod tests;
