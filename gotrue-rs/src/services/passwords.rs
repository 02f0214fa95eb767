//! Passwords: strength, hashing, verification, and encryption with the operator's key.
//!
//! Hashing runs on a bounded pool, and no connection is held meanwhile.

use foundation::error::{Error, ErrorCode, Result, WeakPasswordReason};
use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::explanation::verification::explain_weak_password;
use gotrue_rules::domain::password::{WeakPassword, find_weaknesses, too_long};
use gotrue_rules::domain::policy::PasswordHash;
use gotrue_rules::domain::user::User;
use platform::journal::Step;
use telemetry::log_limit::LogLimit;
use uuid::Uuid;

use super::sealing;
use crate::ports::hashing::{self, HashingError, JobLimits, PasswordVerdict};
use crate::request_context::RequestContext;

/// Lines about failed look-ups of leaked passwords.
static FAILED_LOOKUPS: LogLimit = LogLimit::new();
/// The length of the column `users.encrypted_password`, in characters.
const MAX_STORED_CHARS: usize = 255;

/// Why the current policy refuses the password; `None` if it does not.
///
/// # Errors
///
/// 400 if it is too long to be hashed; 500 if the look-up of leaked passwords fails and the policy requires it.
pub async fn find_weakness(cx: &RequestContext, password: &str) -> Result<Option<WeakPassword>> {
    let policy = &cx.app.policy.password;
    let mut reasons = find_weaknesses(password, policy)?;
    if policy.hibp.enabled && is_leaked(cx, password).await? {
        reasons.push(WeakPasswordReason::Pwned);
    }
    Ok(WeakPassword::from_reasons(reasons, policy))
}

/// Whether the password is leaked. If the look-up fails, the policy decides.
async fn is_leaked(cx: &RequestContext, password: &str) -> Result<bool> {
    let looked_up = match cx.journal.record_fallible(Step::Call("pwned.look_up")).await {
        Ok(()) => cx.app.pwned.is_listed(password).await.map_err(Error::other),
        Err(struck) => Err(Error::other(struck)),
    };
    match looked_up {
        Ok(is_leaked) => Ok(is_leaked),
        Err(error) if cx.app.policy.password.hibp.fail_closed => {
            let message = "Unable to perform password strength check with HaveIBeenPwned.org.";
            Err(Error::internal(message).with_cause(error))
        }
        Err(error) => {
            if let Some(left_out) = FAILED_LOOKUPS.admit("") {
                let error = ErrorChain(&error);
                tracing::warn!(%error, left_out, "leaked password look-up failed, password accepted");
            }
            Ok(false)
        }
    }
}

/// Refuses a new password that is too weak.
pub async fn require_strong(cx: &RequestContext, password: &str) -> Result<()> {
    match find_weakness(cx, password).await? {
        Some(weak) => {
            cx.journal.record_decision(explain_weak_password(password, &weak, &cx.app.policy.password));
            Err(weak.into())
        }
        None => Ok(()),
    }
}

/// The weakness of a password that signed in, for the response. A failure is only logged.
pub async fn weak_password_warning(cx: &RequestContext, password: &str) -> Option<WeakPassword> {
    find_weakness(cx, password).await.unwrap_or_else(|error| {
        tracing::warn!(error = %ErrorChain(&error), "password strength check at sign-in failed");
        None
    })
}

/// What happens to hashing that has not started when the client of the request disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterDisconnect {
    /// It is skipped, and the request ends. Only for requests that have written nothing yet.
    Skip,
    /// It is done: the request has written something, or is an administrator's.
    Complete,
}

impl AfterDisconnect {
    fn limits(self, cx: &RequestContext) -> JobLimits {
        let limits = cx.hashing_limits.clone();
        match self {
            Self::Skip => limits,
            Self::Complete => JobLimits { client: None, ..limits },
        }
    }
}

/// Hashes a new password of the user `owner`.
///
/// Returns the value to store: hashed by the policy, and encrypted.
pub async fn hash(cx: &RequestContext, owner: Uuid, password: &str, then: AfterDisconnect) -> Result<String> {
    hash_limited(cx, owner, password, then.limits(cx)).await
}

async fn hash_limited(cx: &RequestContext, owner: Uuid, password: &str, limits: JobLimits) -> Result<String> {
    cx.journal.record(Step::Call("hashing.hash"));
    let hashing = cx.app.hashing.limited(limits);
    let hash = hashing.hash(password, cx.app.policy.password.hash, &cx.entropy).await.map_err(hashing_error)?;
    Ok(sealing::seal(cx, owner, &hash))
}

/// Whether the password is the user's; `false` for a user without one.
///
/// A stored hash that cannot be decrypted or has an unknown format is an internal error.
pub async fn is_correct(cx: &RequestContext, password: &str, user: &User, then: AfterDisconnect) -> Result<bool> {
    let stored = user.encrypted_password.as_deref().unwrap_or_default();
    if stored.is_empty() {
        return Ok(false);
    }
    let opened = sealing::open(cx, user.id, stored)?;
    cx.journal.record(Step::Call("hashing.verify"));
    match cx.app.hashing.limited(then.limits(cx)).verify(password, &opened.plain).await.map_err(hashing_error)? {
        PasswordVerdict::Match => Ok(true),
        PasswordVerdict::NoMatch | PasswordVerdict::Unusable(_) => Ok(false),
        PasswordVerdict::Unreadable(why) => Err(Error::other(why)),
    }
}

/// The value to store in place of the current one, after a successful sign-in.
///
/// It is a hash of the configured kind if the policy enables rehashing, encrypted with the current key. `None` if the
/// stored value is current.
pub async fn rehash_if_outdated(cx: &RequestContext, user: &User, password: &str) -> Result<Option<String>> {
    let stored = user.encrypted_password.as_deref().unwrap_or_default();
    let opened = sealing::open(cx, user.id, stored)?;
    let policy = &cx.app.policy.password;
    if policy.should_rehash_after_sign_in && !hashing::is_current(&opened.plain, policy.hash) {
        return hash_limited(cx, user.id, password, JobLimits::default()).await.map(Some);
    }
    if !opened.is_outdated {
        return Ok(None);
    }
    match seal_imported_hash(cx, user.id, &opened.plain) {
        sealed if sealed != opened.plain => Ok(Some(sealed)),
        _ => hash_limited(cx, user.id, password, JobLimits::default()).await.map(Some),
    }
}

/// The value to store for an imported hash: encrypted, unless that exceeds the column.
///
/// A plain one is replaced when a sign-in hashes the password.
pub fn seal_imported_hash(cx: &RequestContext, owner: Uuid, hash: &str) -> String {
    let sealed = sealing::seal(cx, owner, hash);
    if sealed.len() <= MAX_STORED_CHARS { sealed } else { hash.to_owned() }
}

/// Why an imported hash is in no supported format; `None` if it is.
pub fn hash_format_error(hash: &str) -> Option<&'static str> {
    hashing::malformed_reason(hash)
}

/// The value to store for a user without a usable password.
///
/// It takes no hashing: a request that creates such a user takes as long as one that finds it.
pub fn unusable_hash(cx: &RequestContext, owner: Uuid) -> String {
    sealing::seal(cx, owner, &hashing::unusable_hash(cx.app.policy.password.hash, &cx.entropy))
}

/// Takes as long as verifying a password, for a user that does not exist or must not be revealed.
pub async fn dummy_verify(cx: &RequestContext, password: &str, then: AfterDisconnect) -> Result<()> {
    cx.journal.record(Step::Call("hashing.verify"));
    cx.app
        .hashing
        .limited(then.limits(cx))
        .dummy_verify(password, cx.app.policy.password.hash)
        .await
        .map_err(hashing_error)
}

/// Hashes recovery codes with argon2id, as the reference does; each has a salt of its own.
pub async fn hash_recovery_codes(cx: &RequestContext, codes: &[String]) -> Result<Vec<String>> {
    let how = PasswordHash::Argon2id(cx.app.policy.mfa.recovery_codes.hash_cost);
    let mut hashes = Vec::with_capacity(codes.len());
    for code in codes {
        cx.journal.record(Step::Call("hashing.hash"));
        let hashing = cx.app.hashing.limited(AfterDisconnect::Skip.limits(cx));
        hashes.push(hashing.hash(code, how, &cx.entropy).await.map_err(hashing_error)?);
    }
    Ok(hashes)
}

/// Returns the id of the stored recovery code that matches; each is compared, so that the duration tells nothing.
pub async fn find_recovery_code(cx: &RequestContext, code: &str, stored: &[(Uuid, String)]) -> Result<Option<Uuid>> {
    let mut found = None;
    for (id, hash) in stored {
        cx.journal.record(Step::Call("hashing.verify"));
        let hashing = cx.app.hashing.limited(AfterDisconnect::Skip.limits(cx));
        match hashing.verify(code, hash).await.map_err(hashing_error)? {
            PasswordVerdict::Match => found = found.or(Some(*id)),
            PasswordVerdict::NoMatch => {}
            PasswordVerdict::Unusable(why) | PasswordVerdict::Unreadable(why) => {
                tracing::warn!(recovery_code.id = %id, why, "stored recovery code cannot be compared, it does not match");
            }
        }
    }
    Ok(found)
}

fn hashing_error(error: HashingError) -> Error {
    match &error {
        HashingError::Busy { retry_after, .. } => {
            let seconds = retry_after.as_secs().max(1);
            let message = format!("Too many sign-ins at once, please retry after {seconds} seconds.");
            Error::http(503, ErrorCode::OverRequestRateLimit, message).retry_after(seconds).with_cause(error)
        }
        HashingError::ClientGone => {
            Error::http(499, ErrorCode::RequestTimeout, "The client closed the connection.").with_cause(error)
        }
        HashingError::TooLong(_) => too_long(),
        HashingError::Parameters(_) | HashingError::Failed => Error::other(error),
    }
}
