//! Passwords: strength by today's rules, hashing and comparing on the bounded pool. No connection is held meanwhile.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::password::{Weak, weaknesses};
use gotrue_rules::domain::sign_in::invalid_credentials;

use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::hashing::{self, HashingError, Verdict};

/// Characters of a password that nobody knows: 320 bits.
const RANDOM_LENGTH: usize = 64;

/// Why today's rules would refuse the password; none if they would not. 400 if it is too long to be hashed.
pub fn weakness(cx: &Cx, password: &str) -> Result<Option<Weak>> {
    let policy = &cx.app.policy.password;
    Ok(Weak::because(weaknesses(password, policy)?, policy))
}

/// Refuses a new password that is too weak.
pub fn require_strong(cx: &Cx, password: &str) -> Result<()> {
    match weakness(cx, password)? {
        Some(weak) => Err(weak.into()),
        None => Ok(()),
    }
}

/// Hashes a new password as the policy says.
pub async fn hash(cx: &Cx, password: &str) -> Result<String> {
    cx.journal.note(Step::Call("hashing.hash"));
    cx.app.hashing.hash(password, cx.app.policy.password.hash, &cx.entropy).await.map_err(refused)
}

/// Whether the password is the one stored. A hash of no known form is a failure of ours, not of the caller.
pub async fn is_right(cx: &Cx, password: &str, stored: &str) -> Result<bool> {
    cx.journal.note(Step::Call("hashing.verify"));
    match cx.app.hashing.verify(password, stored).await.map_err(refused)? {
        Verdict::Match => Ok(true),
        Verdict::NoMatch | Verdict::Unusable(_) => Ok(false),
        Verdict::Unreadable(why) => Err(Error::other(why)),
    }
}

/// Whether a stored hash is of the kind that new ones are.
pub fn is_current(cx: &Cx, stored: &str) -> bool {
    hashing::is_current(stored, cx.app.policy.password.hash)
}

/// Why a hash made elsewhere could not be compared with; none if it could.
pub fn unusable(stored: &str) -> Option<&'static str> {
    hashing::unusable(stored)
}

/// Hashes a password that nobody knows.
pub async fn hash_of_none(cx: &Cx) -> Result<String> {
    hash(cx, &cx.entropy.base32(RANDOM_LENGTH)).await
}

/// Takes as long as comparing would, then refuses: for an account that does not exist.
pub async fn refuse_unknown(cx: &Cx, password: &str) -> Error {
    cx.journal.note(Step::Call("hashing.verify"));
    match cx.app.hashing.verify_nothing(password, cx.app.policy.password.hash).await {
        Ok(()) => invalid_credentials(),
        Err(error) => refused(error),
    }
}

fn refused(error: HashingError) -> Error {
    match &error {
        HashingError::Busy { retry_after, .. } => {
            let seconds = retry_after.as_secs().max(1);
            let message = format!("Too many sign-ins at once, please retry after {seconds} seconds.");
            Error::http(503, "over_request_rate_limit", message).retry_after(seconds).because(error)
        }
        HashingError::TooLong(_) => Error::invalid("Password cannot be longer than 72 characters"),
        HashingError::Parameters(_) | HashingError::Failed => Error::other(error),
    }
}
