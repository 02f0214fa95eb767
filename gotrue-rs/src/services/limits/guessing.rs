//! Guesses at one account's password or at a code, counted over all networks they come from. Who guesses is slowed down:
//! one network uses up a third of what a target allows, and the owner's own network is not held up by others.
//! `docs/decisions/0060-guessing-is-slowed-down.md` says why.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::policy::Bucket;
use uuid::Uuid;

use super::{explained, from_this_network};
use crate::cx::Cx;
use crate::ports::limits::{Counted, network_of};
use crate::store::{OrRefuse, sessions};

/// A guess that counts as wrong until it is said to have been right.
#[derive(Debug)]
#[must_use = "a guess stays counted unless it is said to have been right"]
pub struct Guess(Vec<(Counted, String)>);

impl Guess {
    /// It was right: it does not count.
    pub fn was_right(self, cx: &Cx) {
        for (counted, key) in self.0 {
            cx.app.limits.give_back(counted, &key);
        }
    }
}

/// Counts a guess at the password of the account that the request calls by that name; 429 where there were too many.
/// Names count, not accounts: else a refusal would tell which address and which number belong together. Who has a session
/// of the account from this network is not held up by guesses from others.
pub async fn at_password(cx: &Cx, name: &str, account: Option<Uuid>) -> Result<Guess> {
    let Some(bucket) = cx.app.policy.limits.targets.wrong_passwords else { return Ok(Guess(Vec::new())) };
    let mut guess = take_share(cx, Counted::WrongPasswordsFromOne, name, bucket)?;
    match cx.app.limits.take(Counted::WrongPasswords, name, bucket, cx.now) {
        Ok(()) => guess.0.push((Counted::WrongPasswords, name.to_owned())),
        Err(_) if has_session_here(cx, account).await? => {}
        Err(too_many) => {
            guess.was_right(cx);
            let why = "too many wrong passwords for this account; a link by mail still works";
            return Err(explained(cx, too_many_requests(), why, too_many));
        }
    }
    Ok(guess)
}

/// Counts a guess at a code that was sent to that address, number or account; 429 where there were too many. Who asked
/// for the code is not held up by guesses from other networks.
pub fn at_code(cx: &Cx, target: &str) -> Result<Guess> {
    let Some(bucket) = cx.app.policy.limits.targets.wrong_codes else { return Ok(Guess(Vec::new())) };
    let mut guess = take_share(cx, Counted::WrongCodesFromOne, target, bucket)?;
    match cx.app.limits.take(Counted::WrongCodes, target, bucket, cx.now) {
        Ok(()) => guess.0.push((Counted::WrongCodes, target.to_owned())),
        Err(_) if cx.app.limits.use_grant(&from_this_network(cx, target), cx.now) => {}
        Err(too_many) => {
            guess.was_right(cx);
            let why = "too many wrong codes for this address or number; the link in a mail still works";
            return Err(explained(cx, too_many_requests(), why, too_many));
        }
    }
    Ok(guess)
}

/// What this network may take of the target's.
fn take_share(cx: &Cx, counted: Counted, target: &str, bucket: Bucket) -> Result<Guess> {
    let key = from_this_network(cx, target);
    let taken = cx.app.limits.take(counted, &key, bucket.share_of_a_network(), cx.now);
    let what = if counted == Counted::WrongCodesFromOne { "codes" } else { "passwords" };
    taken.map_err(|too_many| {
        let why = format!("too many wrong {what} from your network");
        explained(cx, too_many_requests(), &why, too_many)
    })?;
    Ok(Guess(vec![(counted, key)]))
}

/// Asked for accounts that do not exist too, so that the time does not tell.
async fn has_session_here(cx: &Cx, account: Option<Uuid>) -> Result<bool> {
    let Some(address) = cx.client_ip() else { return Ok(false) };
    let found = sessions::is_any_from(&mut cx.db(), account.unwrap_or_default(), network_of(address)).await;
    found.or_refuse("Database error finding sessions")
}

fn too_many_requests() -> Error {
    Error::too_many("over_request_rate_limit", "Request rate limit reached")
}
