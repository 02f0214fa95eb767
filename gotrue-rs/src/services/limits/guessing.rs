//! Limits guesses at a user's password or at a code, counted over all networks.
//!
//! One network can use a third of a target's limit, and guesses from other networks do not block the user's own
//! network. The reasons are in `docs/decisions/0060-guessing-is-slowed-down.md`.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::policy::Bucket;
use http_edge::request::ClientAddress;
use uuid::Uuid;

use super::limited_request::{LimitSetting, limit_error, target_network_key, too_many_requests_error};
use crate::ports::limits::{CountedEvent, Reservation};
use crate::request_context::RequestContext;
use crate::store::{OrInternalError, sessions};

/// The key of `config.toml` with the limit of wrong passwords.
const WRONG_PASSWORDS: &str = "basalt.rate_limit.wrong_passwords";
/// The key of `config.toml` with the limit of wrong codes.
const WRONG_CODES: &str = "basalt.rate_limit.wrong_codes";

/// A guess that counts as wrong until it is released.
#[derive(Debug)]
#[must_use = "a guess stays counted unless it is released"]
pub struct Guess(Vec<Reservation>);

impl Guess {
    /// Releases a correct guess; a waiting request may take its turn.
    pub fn release_correct(self) {
        self.0.into_iter().for_each(Reservation::refund);
    }

    /// Releases a guess that was not compared, so nothing was learned.
    pub fn release_unchecked(self) {
        self.release_correct();
    }
}

/// Counts a guess at the password of the user that the request names.
///
/// Names are counted, not users: otherwise a refusal tells which address and which number belong to one user. A network
/// from which the user has a session is not blocked by guesses from other networks. Waits while the last allowed
/// guesses are being compared, because they may be correct.
///
/// # Errors
///
/// 429 if there were too many guesses.
pub async fn count_password_guess(cx: &RequestContext, name: &str, account: Option<Uuid>) -> Result<Guess> {
    let Some(bucket) = cx.app.policy.limits.targets.wrong_passwords else { return Ok(Guess(Vec::new())) };
    let mut guess = reserve_network_share(cx, CountedEvent::WrongPasswordsFromNetwork, name, bucket).await?;
    match cx.app.limits.reserve(CountedEvent::WrongPasswords, name, bucket, cx.now).await {
        Ok(reservation) => guess.0.push(reservation),
        Err(_) if has_session_from_network(cx, account).await? => {}
        Err(too_many) => {
            guess.release_unchecked();
            let why = "too many wrong passwords for this account; a link by mail still works";
            let limit = LimitSetting::bucket(WRONG_PASSWORDS, "wrong passwords for one account", bucket);
            return Err(limit_error(cx, too_many_requests_error(), why, limit, too_many));
        }
    }
    Ok(guess)
}

/// Counts a guess at a code that was sent to this address, number or user.
///
/// A network that requested the code is not blocked by guesses from other networks.
///
/// # Errors
///
/// 429 if there were too many guesses.
pub async fn count_code_guess(cx: &RequestContext, target: &str) -> Result<Guess> {
    let Some(bucket) = cx.app.policy.limits.targets.wrong_codes else { return Ok(Guess(Vec::new())) };
    let mut guess = reserve_network_share(cx, CountedEvent::WrongCodesFromNetwork, target, bucket).await?;
    match cx.app.limits.reserve(CountedEvent::WrongCodes, target, bucket, cx.now).await {
        Ok(reservation) => guess.0.push(reservation),
        Err(_) if cx.app.limits.consume_grant(&target_network_key(cx, target), cx.now) => {}
        Err(too_many) => {
            guess.release_unchecked();
            let why = "too many wrong codes for this address or number; the link in a mail still works";
            let limit = LimitSetting::bucket(WRONG_CODES, "wrong codes for one address or number", bucket);
            return Err(limit_error(cx, too_many_requests_error(), why, limit, too_many));
        }
    }
    Ok(guess)
}

/// Reserves a guess from this network's share of the target's limit.
async fn reserve_network_share(
    cx: &RequestContext,
    counted: CountedEvent,
    target: &str,
    bucket: Bucket,
) -> Result<Guess> {
    let key = target_network_key(cx, target);
    let taken = cx.app.limits.reserve(counted, &key, bucket.network_share(), cx.now).await;
    let is_code = counted == CountedEvent::WrongCodesFromNetwork;
    let (what, setting) = if is_code { ("codes", WRONG_CODES) } else { ("passwords", WRONG_PASSWORDS) };
    taken.map(|reservation| Guess(vec![reservation])).map_err(|too_many| {
        let why = format!("too many wrong {what} from your network");
        let counted = format!("wrong {what} from one network");
        let limit = LimitSetting::bucket(setting, &counted, bucket.network_share());
        limit_error(cx, too_many_requests_error(), &why, limit, too_many)
    })
}

/// Also queries for users that do not exist, so that the duration does not differ.
async fn has_session_from_network(cx: &RequestContext, account: Option<Uuid>) -> Result<bool> {
    let Some(address) = cx.client_ip() else { return Ok(false) };
    let network = ClientAddress::new(address).network();
    let found = sessions::has_session_from(&mut cx.db(), account.unwrap_or_default(), network).await;
    found.or_internal_error("Database error finding sessions")
}
