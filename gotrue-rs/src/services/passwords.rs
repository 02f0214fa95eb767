//! Passwords: strength by today's rules, hashing and comparing on the bounded pool, sealed where the operator set a key.
//! No connection is held meanwhile.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::password::{Reason, Weak, weaknesses};
use gotrue_rules::domain::user::Account;
use uuid::Uuid;

use super::sealing;
use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::hashing::{self, HashingError, Verdict};

/// Characters that `users.encrypted_password` holds.
const COLUMN: usize = 255;

/// Why today's rules would refuse the password; none if they would not. 400 if it is too long to be hashed, 500 if the
/// list of leaked passwords cannot be asked and the policy wants its answer.
pub async fn weakness(cx: &Cx, password: &str) -> Result<Option<Weak>> {
    let policy = &cx.app.policy.password;
    let mut reasons = weaknesses(password, policy)?;
    if policy.hibp.enabled && is_leaked(cx, password).await? {
        reasons.push(Reason::Pwned);
    }
    Ok(Weak::because(reasons, policy))
}

/// Whether the password is in the list of leaked ones. Where the list cannot be asked the policy decides.
async fn is_leaked(cx: &Cx, password: &str) -> Result<bool> {
    let looked_up = match cx.journal.reach(Step::Call("pwned.look_up")).await {
        Ok(()) => cx.app.pwned.lists(password).await.map_err(Error::other),
        Err(struck) => Err(Error::other(struck)),
    };
    match looked_up {
        Ok(is_leaked) => Ok(is_leaked),
        Err(error) if cx.app.policy.password.hibp.fail_closed => {
            let message = "Unable to perform password strength check with HaveIBeenPwned.org.";
            Err(Error::internal(message).because(error))
        }
        Err(error) => {
            tracing::warn!(cause = ?error.cause, "whether a password was leaked could not be asked; it is let pass");
            Ok(false)
        }
    }
}

/// Refuses a new password that is too weak.
pub async fn require_strong(cx: &Cx, password: &str) -> Result<()> {
    match weakness(cx, password).await? {
        Some(weak) => Err(weak.into()),
        None => Ok(()),
    }
}

/// What is to be said of a password that has just been right: never a refusal.
pub async fn remark(cx: &Cx, password: &str) -> Option<Weak> {
    weakness(cx, password).await.unwrap_or_else(|error| {
        tracing::warn!(cause = ?error.cause, "whether the password of a sign-in is weak could not be told");
        None
    })
}

/// What to store of a new password of the account `owner`: its hash as the policy says, sealed.
pub async fn hash(cx: &Cx, owner: Uuid, password: &str) -> Result<String> {
    cx.journal.note(Step::Call("hashing.hash"));
    let hash = cx.app.hashing.hash(password, cx.app.policy.password.hash, &cx.entropy).await.map_err(refused)?;
    Ok(sealing::seal(cx, owner, &hash))
}

/// Whether the password is the account's; without a password none is. A stored hash that cannot be opened or has no known
/// form is a failure of ours, not of the caller.
pub async fn is_right(cx: &Cx, password: &str, account: &Account) -> Result<bool> {
    let stored = account.encrypted_password.as_deref().unwrap_or_default();
    if stored.is_empty() {
        return Ok(false);
    }
    let opened = sealing::open(cx, account.id, stored)?;
    cx.journal.note(Step::Call("hashing.verify"));
    match cx.app.hashing.verify(password, &opened.plain).await.map_err(refused)? {
        Verdict::Match => Ok(true),
        Verdict::NoMatch | Verdict::Unusable(_) => Ok(false),
        Verdict::Unreadable(why) => Err(Error::other(why)),
    }
}

/// What to store of the account's own password in place of what is: a hash of today's kind where the policy says so, and
/// sealed with today's key. None if it is stored so already.
pub async fn renewed(cx: &Cx, account: &Account, password: &str) -> Result<Option<String>> {
    let stored = account.encrypted_password.as_deref().unwrap_or_default();
    let opened = sealing::open(cx, account.id, stored)?;
    let policy = &cx.app.policy.password;
    if policy.rehash_after_sign_in && !hashing::is_current(&opened.plain, policy.hash) {
        return hash(cx, account.id, password).await.map(Some);
    }
    if !opened.is_outdated {
        return Ok(None);
    }
    match adopted(cx, account.id, &opened.plain) {
        sealed if sealed != opened.plain => Ok(Some(sealed)),
        _ => hash(cx, account.id, password).await.map(Some),
    }
}

/// What to store of a hash made elsewhere: sealed, unless its column would not hold it then. Such a one is kept as it is
/// until a sign-in hashes the password anew.
pub fn adopted(cx: &Cx, owner: Uuid, hash: &str) -> String {
    let sealed = sealing::seal(cx, owner, hash);
    if sealed.len() <= COLUMN { sealed } else { hash.to_owned() }
}

/// Why a hash made elsewhere is none of the forms that are stored; none if it is one.
pub fn malformed(hash: &str) -> Option<&'static str> {
    hashing::malformed(hash)
}

/// What to store of an account whose password nobody knows. No work: a request that makes such an account is answered as
/// soon as one that finds it.
pub fn hash_of_none(cx: &Cx, owner: Uuid) -> String {
    sealing::seal(cx, owner, &hashing::of_no_password(cx.app.policy.password.hash, &cx.entropy))
}

/// Takes as long as hashing or comparing would, for an account that is not there or must not be told of.
pub async fn work_for_nothing(cx: &Cx, password: &str) -> Result<()> {
    cx.journal.note(Step::Call("hashing.verify"));
    cx.app.hashing.verify_nothing(password, cx.app.policy.password.hash).await.map_err(refused)
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
