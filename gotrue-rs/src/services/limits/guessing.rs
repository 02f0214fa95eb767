//! Guesses at one account's password or at a code, counted over all networks they come from. Who guesses is slowed down:
//! one network uses up a third of what a target allows, and the owner's own network is not held up by others.
//! `docs/decisions/0060-guessing-is-slowed-down.md` says why.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::policy::Bucket;
use uuid::Uuid;

use super::{explained, from_this_network};
use crate::cx::Cx;
use crate::ports::limits::{Counted, Reservation, network_of};
use crate::store::{OrRefuse, sessions};

/// A guess that counts as wrong until it is said to have been right, or not to have been looked at.
#[derive(Debug)]
#[must_use = "a guess stays counted unless it is said to have been right"]
pub struct Guess(Vec<Reservation>);

impl Guess {
    /// It was right: it does not count, and lets somebody in who waits for it.
    pub fn was_right(self) {
        self.0.into_iter().for_each(Reservation::give_back);
    }

    /// Nothing was compared, so nothing was learned: it does not count.
    pub fn was_not_compared(self) {
        self.was_right();
    }
}

/// Counts a guess at the password of the account that the request calls by that name; 429 where there were too many.
/// Names count, not accounts: else a refusal would tell which address and which number belong together. Who has a session
/// of the account from this network is not held up by guesses from others. Waits while others are at the last guesses that
/// are left: they may be right.
pub async fn at_password(cx: &Cx, name: &str, account: Option<Uuid>) -> Result<Guess> {
    let Some(bucket) = cx.app.policy.limits.targets.wrong_passwords else { return Ok(Guess(Vec::new())) };
    let mut guess = take_share(cx, Counted::WrongPasswordsFromOne, name, bucket).await?;
    match cx.app.limits.reserve(Counted::WrongPasswords, name, bucket, cx.now).await {
        Ok(reservation) => guess.0.push(reservation),
        Err(_) if has_session_here(cx, account).await? => {}
        Err(too_many) => {
            guess.was_not_compared();
            let why = "too many wrong passwords for this account; a link by mail still works";
            return Err(explained(cx, too_many_requests(), why, too_many));
        }
    }
    Ok(guess)
}

/// Counts a guess at a code that was sent to that address, number or account; 429 where there were too many. Who asked
/// for the code is not held up by guesses from other networks.
pub async fn at_code(cx: &Cx, target: &str) -> Result<Guess> {
    let Some(bucket) = cx.app.policy.limits.targets.wrong_codes else { return Ok(Guess(Vec::new())) };
    let mut guess = take_share(cx, Counted::WrongCodesFromOne, target, bucket).await?;
    match cx.app.limits.reserve(Counted::WrongCodes, target, bucket, cx.now).await {
        Ok(reservation) => guess.0.push(reservation),
        Err(_) if cx.app.limits.use_grant(&from_this_network(cx, target), cx.now) => {}
        Err(too_many) => {
            guess.was_not_compared();
            let why = "too many wrong codes for this address or number; the link in a mail still works";
            return Err(explained(cx, too_many_requests(), why, too_many));
        }
    }
    Ok(guess)
}

/// What this network may take of the target's.
async fn take_share(cx: &Cx, counted: Counted, target: &str, bucket: Bucket) -> Result<Guess> {
    let key = from_this_network(cx, target);
    let taken = cx.app.limits.reserve(counted, &key, bucket.share_of_a_network(), cx.now).await;
    let what = if counted == Counted::WrongCodesFromOne { "codes" } else { "passwords" };
    taken.map(|reservation| Guess(vec![reservation])).map_err(|too_many| {
        let why = format!("too many wrong {what} from your network");
        explained(cx, too_many_requests(), &why, too_many)
    })
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
