//! What becomes of a refresh token (`tokens-and-sessions.md` §3, §4): its two forms, and the rule of rotation.

mod signed;

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use uuid::Uuid;

use super::error::{Error, Result};
use super::policy::RefreshPolicy;
use super::session::Session;
use super::session_rules::last_refreshed;
use super::user::{Account, Time};

pub use self::signed::{SessionKey, SignedToken};

/// A refresh token by its form, whatever version is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presented {
    /// Version 1: twelve characters that are a row of `auth.refresh_tokens`.
    Row(String),
    /// Version 2: session and counter, signed with the session's key.
    Signed(SignedToken),
}

impl Presented {
    /// Reads a token; 400 `validation_failed` if it is of neither form. Nothing is looked up for such a one.
    pub fn parse(token: &str) -> Result<Self> {
        let is_row = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        match token.len() {
            12 if token.bytes().all(is_row) => Ok(Self::Row(token.to_owned())),
            13.. => SignedToken::decode(token).map(Self::Signed).ok_or_else(malformed),
            _ => Err(malformed()),
        }
    }
}

fn malformed() -> Error {
    Error::invalid("Refresh token is not valid")
}

/// The refusal of a token that does not exist, or whose signature is wrong.
pub fn not_found() -> Error {
    Error::bad_request("refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
}

/// The refusal of a token that was used before.
pub fn already_used() -> Error {
    Error::bad_request("refresh_token_already_used", "Invalid Refresh Token: Already Used")
}

/// The refusal of a token whose lock could not be had in five seconds.
pub fn too_many_at_once() -> Error {
    let message = "Too many concurrent token refresh requests on the same session or refresh token";
    Error::http(409, "conflict", message)
}

/// What is checked first, of account and session: a ban, then whether there is a session at all.
pub fn check_account<'a>(account: &Account, session: Option<&'a Session>, now: Time) -> Result<&'a Session> {
    if account.is_banned(now) {
        return Err(Error::bad_request("user_banned", "Invalid Refresh Token: User Banned"));
    }
    session.ok_or_else(|| Error::bad_request("session_not_found", "Invalid Refresh Token: No Valid Session Found"))
}

/// Whether the session belongs to the OAuth client that asks, or to none if none asks; else an OAuth `invalid_client`.
pub fn check_client(session: &Session, client: Option<Uuid>) -> Result<()> {
    let given = |id: Option<Uuid>| id.filter(|id| !id.is_nil());
    let message = match (given(session.oauth_client_id), given(client)) {
        (None, None) => return Ok(()),
        (Some(owner), Some(client)) if owner == client => return Ok(()),
        (Some(_), None) => "Client authentication required for OAuth session",
        (Some(_), Some(_)) => "Client does not match the session's OAuth client",
        (None, Some(_)) => "Client authentication not allowed for non-OAuth session",
    };
    Err(Error::oauth("invalid_client", message))
}

/// A token of version 1 as it is found under the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The token itself.
    pub token: &'a str,
    /// `revoked`.
    pub revoked: bool,
    /// `updated_at`: when it was revoked, if it was.
    pub updated_at: Time,
    /// The newest unrevoked token of the session, and the token it replaced.
    pub active: Option<(&'a str, Option<&'a str>)>,
}

/// What becomes of a token of version 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowOutcome {
    /// It is revoked and a child takes its place.
    Rotate,
    /// It is the parent of the active token, which the client did not get: that one is handed out again, and nothing
    /// is written about tokens. There is no time limit.
    HandOut(String),
    /// It was used before: every token of the session is revoked, the session stays; then [`already_used`].
    RevokeFamily,
    /// It was used before: [`already_used`], and nothing else.
    Refuse,
}

/// The rule for version 1.
pub fn decide_row(row: &Row<'_>, policy: &RefreshPolicy, now: Time) -> RowOutcome {
    if !row.revoked {
        return RowOutcome::Rotate;
    }
    match row.active {
        Some((active, Some(parent))) if parent == row.token => RowOutcome::HandOut(active.to_owned()),
        _ if now <= row.updated_at + policy.reuse_interval => RowOutcome::Rotate,
        _ if policy.rotation_enabled => RowOutcome::RevokeFamily,
        _ => RowOutcome::Refuse,
    }
}

/// What becomes of a token of version 2. Every counter is that of the token to hand out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedOutcome {
    /// The counter goes one up.
    Advance {
        /// The new counter.
        counter: i64,
    },
    /// It was used before, but the client may have the current one again.
    HandOut {
        /// The counter as it is.
        counter: i64,
        /// Why: the value of `sb-auth-refresh-token-reuse-cause`.
        cause: String,
    },
    /// It was used before: the session is deleted and `sb-auth-refresh-token-rotated: true` said; then
    /// [`already_used`].
    EndSession,
    /// It was used before: [`already_used`], and nothing else.
    Refuse,
    /// Its counter was never reached: [`not_issued_here`].
    NotIssuedHere,
}

/// The refusal of a counter that the session has not reached.
pub fn not_issued_here() -> Error {
    Error::invalid("Invalid Refresh Token: Not Issued By This Server")
}

/// The rule for version 2; the signature has been checked. A session without a counter is at 0.
pub fn decide_signed(token: &SignedToken, session: &Session, policy: &RefreshPolicy, now: Time) -> SignedOutcome {
    let counter = session.refresh_token_counter.unwrap_or_default();
    let behind = i128::from(counter) - i128::from(token.counter());
    if behind < 0 {
        return SignedOutcome::NotIssuedHere;
    }
    if behind == 0 {
        return SignedOutcome::Advance { counter: counter.saturating_add(1) };
    }
    let causes = [
        (is_within(now, last_refreshed(session, None), policy.reuse_interval), "concurrent-refresh"),
        (behind == 1, "fail-to-save"),
        (policy.allow_reuse, "always-allow"),
    ];
    let causes: Vec<&str> = causes.into_iter().filter_map(|(holds, cause)| holds.then_some(cause)).collect();
    if !causes.is_empty() {
        SignedOutcome::HandOut { counter, cause: causes.join(",") }
    } else if policy.rotation_enabled {
        SignedOutcome::EndSession
    } else {
        SignedOutcome::Refuse
    }
}

fn is_within(now: Time, then: Time, interval: Duration) -> bool {
    (now - then).abs().to_std().is_ok_and(|apart| apart < interval)
}

/// Whether a session with tokens of version 1 goes over to version 2 when it is refreshed: all of them, or a share
/// of the sessions (not of the refreshes), chosen by their ids.
pub fn is_upgraded(session: Uuid, policy: &RefreshPolicy) -> bool {
    let share = u32::from(policy.upgrade_percentage);
    let place = digest(&SHA256, session.as_bytes());
    let place = place.as_ref().iter().take(4).fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
    policy.algorithm_version == 2 && place % 100 < share
}

#[cfg(test)]
mod tests;
