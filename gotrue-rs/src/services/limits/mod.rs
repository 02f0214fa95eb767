//! How often somebody may ask, guess and have messages sent, and how many messages go out altogether.

mod guessing;
mod messages;

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::policy::Quota;

pub use self::guessing::{Guess, at_code, at_password};
pub use self::messages::{anyone_asks, member_asks, too_soon};
use crate::cx::Cx;
pub use crate::ports::limits::Limited;
use crate::ports::limits::{Request, Sent, TooMany, key_of};

/// Counts this request; 429 when its key asks too often. A request without a key is not counted.
pub fn take(cx: &Cx, what: Limited) -> Result<()> {
    let policy = &cx.app.policy.limits;
    let Some(key) = sender(cx) else { return Ok(()) };
    cx.app.limits.take(what, &key, what.bucket(policy), cx.now).map_err(|too_many| {
        let error = Error::too_many("over_request_rate_limit", "Request rate limit reached");
        explained(cx, error, &format!("too many {} from your network", what.words()), too_many)
    })
}

/// Takes one mail out of the quota; 429 when it is used up. Accounts that are confirmed at once send none, unless
/// the operator allows no mails at all.
pub fn take_mail(cx: &Cx) -> Result<()> {
    let quota = cx.app.policy.limits.email_sent;
    let is_none_at_all = matches!(quota, Quota::Window { events, .. } if events <= 0.0);
    if cx.app.policy.mail.autoconfirm && !is_none_at_all {
        return Ok(());
    }
    cx.app.limits.take_quota(Sent::Email, quota, cx.now).map_err(|too_many| {
        let error = Error::too_many("over_email_send_rate_limit", "email rate limit exceeded");
        explained(cx, error, "the server sends no more mails for now", too_many)
    })
}

/// Takes one message to a phone out of the quota; 429 when it is used up. Numbers with a fixed code take none, and
/// neither does anybody where numbers count as confirmed at once.
pub fn take_text(cx: &Cx) -> Result<()> {
    if cx.app.policy.sms.autoconfirm {
        return Ok(());
    }
    cx.app.limits.take_quota(Sent::Sms, cx.app.policy.limits.sms_sent, cx.now).map_err(|too_many| {
        let error = Error::too_many("over_sms_send_rate_limit", "SMS rate limit exceeded");
        explained(cx, error, "the server sends no more messages for now", too_many)
    })
}

/// Whom a request is counted for, by the policy's key.
fn sender(cx: &Cx) -> Option<String> {
    let request = Request {
        headers: &cx.request.headers,
        peer: cx.request.peer,
        sb_forwarded_for: cx.app.policy.security.sb_forwarded_for_enabled,
    };
    key_of(&cx.app.policy.limits.key, request)
}

/// Whom a request is about, together with the network that it comes from.
fn from_this_network(cx: &Cx, target: &str) -> String {
    format!("{target} {}", sender(cx).unwrap_or_default())
}

/// The refusal as recorded, or, where the policy says so, with which limit that was and when to come back.
fn explained(cx: &Cx, recorded: Error, why: &str, too_many: TooMany) -> Error {
    if !cx.app.policy.limits.explained {
        return recorded;
    }
    let seconds = whole_seconds(too_many);
    let message = format!("{}: {why}. Please retry after {seconds} seconds.", recorded.message());
    Error::too_many(recorded.code(), message).retry_after(seconds)
}

/// Whole seconds after which the wait is over.
fn whole_seconds(too_many: TooMany) -> u64 {
    too_many.wait.as_millis().div_ceil(1000).max(1).try_into().unwrap_or(u64::MAX)
}
