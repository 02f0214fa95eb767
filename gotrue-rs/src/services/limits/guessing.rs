//! Limits guesses at a user's password or at a code, counted over all networks.
//!
//! One network can use a third of a target's limit, and guesses from other networks do not block the user's own
//! network. The reasons are in `docs/decisions/0060-guessing-is-slowed-down.md`.

use foundation::error::{Error, Result};
use foundation::limits::Bucket;
use http_edge::request::ClientAddress;
use platform::limits::{Counted, CountedEvent, LimitOperation, LimitRefusal, RateLimited, Reservation};
use platform::store::OrInternalError;
use uuid::Uuid;

use super::limited_request::{
    LimitSetting, count_all, limit_error, limits_unavailable_error, target_network_key, too_many_requests_error,
};
use crate::request_context::RequestContext;
use crate::store::sessions;

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
/// from which the user has a session is not blocked by guesses from other networks, nor is a known device. Waits while the last allowed
/// guesses are being compared, because they may be correct.
///
/// # Errors
///
/// 429 if there were too many guesses.
pub async fn count_password_guess(cx: &RequestContext, name: &str, user: Option<Uuid>) -> Result<Guess> {
    let Some(bucket) = cx.app.policy.limits.targets.wrong_passwords else { return Ok(Guess(Vec::new())) };
    let kind = GuessKind::Password;
    match reserve_guess(cx, kind, name, bucket).await? {
        (guess, None) => Ok(guess),
        (guess, Some(_)) if cx.request.device.is_some() => Ok(guess),
        (guess, Some(_)) if has_session_from_network(cx, user).await? => Ok(guess),
        (guess, Some(too_many)) => Err(refuse_guess(cx, kind, guess, bucket, too_many)),
    }
}

/// Counts a guess at a code that was sent to this address, number or user.
///
/// A network that requested the code is not blocked by guesses from other networks, nor is a known device.
///
/// # Errors
///
/// 429 if there were too many guesses.
pub async fn count_code_guess(cx: &RequestContext, target: &str) -> Result<Guess> {
    let Some(bucket) = cx.app.policy.limits.targets.wrong_codes else { return Ok(Guess(Vec::new())) };
    let kind = GuessKind::Code;
    let (guess, exceeded) = reserve_guess(cx, kind, target, bucket).await?;
    let Some(too_many) = exceeded.filter(|_| cx.request.device.is_none()) else { return Ok(guess) };
    let granted = LimitOperation::ConsumeGrant { of: &target_network_key(cx, target) };
    match count_all(cx, &[granted]).await.refusal {
        None => Ok(guess),
        Some(_) => Err(refuse_guess(cx, kind, guess, bucket, too_many)),
    }
}

/// What is guessed.
#[derive(Debug, Clone, Copy)]
enum GuessKind {
    Password,
    Code,
}

impl GuessKind {
    /// The events of the network and of the target.
    fn events(self) -> (CountedEvent, CountedEvent) {
        match self {
            Self::Password => (CountedEvent::WrongPasswordsFromNetwork, CountedEvent::WrongPasswords),
            Self::Code => (CountedEvent::WrongCodesFromNetwork, CountedEvent::WrongCodes),
        }
    }

    /// Reservations from the network's share of the limit, and from the limit itself.
    fn operations<'a>(self, network: &'a str, target: &'a str, bucket: Bucket) -> [LimitOperation<'a>; 2] {
        let (by_network, by_target) = self.events();
        [
            LimitOperation::Reserve { what: by_network, key: network, bucket: bucket.network_share() },
            LimitOperation::Reserve { what: by_target, key: target, bucket },
        ]
    }
}

/// Reserves a guess from the network's share of the target's limit, and from the limit itself.
///
/// The second member is set if the limit of the target is exceeded, and not that of the network.
async fn reserve_guess(
    cx: &RequestContext,
    kind: GuessKind,
    target: &str,
    bucket: Bucket,
) -> Result<(Guess, Option<RateLimited>)> {
    let network = target_network_key(cx, target);
    let counted = count_all(cx, &kind.operations(&network, target, bucket)).await;
    let Counted { reservations, refusal } = counted;
    let guess = Guess(reservations);
    match refusal {
        None => Ok((guess, None)),
        Some((1, LimitRefusal::Exceeded(too_many))) => Ok((guess, Some(too_many))),
        Some((_, LimitRefusal::Unavailable)) => {
            guess.release_unchecked();
            Err(limits_unavailable_error())
        }
        Some((_, LimitRefusal::Exceeded(too_many))) => {
            let (what, setting) = match kind {
                GuessKind::Code => ("codes", WRONG_CODES),
                GuessKind::Password => ("passwords", WRONG_PASSWORDS),
            };
            let why = format!("too many wrong {what} from your network");
            let counted = format!("wrong {what} from one network");
            let limit = LimitSetting::bucket(setting, &counted, bucket.network_share());
            Err(limit_error(cx, too_many_requests_error(), &why, limit, too_many))
        }
    }
}

/// Returns the error of an exceeded limit of a target. The guess does not count.
fn refuse_guess(cx: &RequestContext, kind: GuessKind, guess: Guess, bucket: Bucket, too_many: RateLimited) -> Error {
    guess.release_unchecked();
    let (why, limit) = match kind {
        GuessKind::Password => (
            "too many wrong passwords for this account; a link by mail still works",
            LimitSetting::bucket(WRONG_PASSWORDS, "wrong passwords for one account", bucket),
        ),
        GuessKind::Code => (
            "too many wrong codes for this address or number; the link in a mail still works",
            LimitSetting::bucket(WRONG_CODES, "wrong codes for one address or number", bucket),
        ),
    };
    limit_error(cx, too_many_requests_error(), why, limit, too_many)
}

/// Also queries for users that do not exist, so that the duration does not differ.
async fn has_session_from_network(cx: &RequestContext, user: Option<Uuid>) -> Result<bool> {
    let Some(address) = cx.client_ip() else { return Ok(false) };
    let network = ClientAddress::new(address).network();
    let found = sessions::has_session_from(&mut cx.db(), user.unwrap_or_default(), network).await;
    found.or_internal_error("Database error finding sessions")
}
