//! Limits of requests, guesses and messages per key, and of messages altogether.

mod guessing;
mod messages;

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::policy::Quota;

pub use self::guessing::{Guess, count_code_guess, count_password_guess};
pub use self::messages::{count_public_message, count_user_message, too_soon_error};
pub use crate::ports::limits::LimitedRoute;
use crate::ports::limits::{ClientRequest, QuotaKind, RateLimited, find_key};
use crate::request_context::RequestContext;

/// Counts this request; 429 if its key made too many. A request without a key is not counted.
pub fn count_request(cx: &RequestContext, what: LimitedRoute) -> Result<()> {
    let policy = &cx.app.policy.limits;
    let Some(key) = rate_limit_key(cx) else { return Ok(()) };
    cx.app.limits.take(what, &key, what.bucket(policy), cx.now).map_err(|too_many| {
        let error = Error::too_many_requests("over_request_rate_limit", "Request rate limit reached");
        limit_error(cx, error, &format!("too many {} from your network", what.description()), too_many)
    })
}

/// Takes one e-mail from the quota; 429 if it is used up.
///
/// With automatic confirmation no e-mail is counted, unless the quota is zero.
pub fn count_email(cx: &RequestContext) -> Result<()> {
    let quota = cx.app.policy.limits.email_sent;
    let is_none_at_all = matches!(quota, Quota::Window { events, .. } if events <= 0.0);
    if cx.app.policy.mail.autoconfirm && !is_none_at_all {
        return Ok(());
    }
    cx.app.limits.take_quota(QuotaKind::Email, quota, cx.now).map_err(|too_many| {
        let error = Error::too_many_requests("over_email_send_rate_limit", "email rate limit exceeded");
        limit_error(cx, error, "the server sends no more mails for now", too_many)
    })
}

/// Takes one SMS from the quota; 429 if it is used up.
///
/// With automatic confirmation none is counted. Numbers with a fixed code do not reach this function.
pub fn count_sms(cx: &RequestContext) -> Result<()> {
    if cx.app.policy.sms.autoconfirm {
        return Ok(());
    }
    cx.app.limits.take_quota(QuotaKind::Sms, cx.app.policy.limits.sms_sent, cx.now).map_err(|too_many| {
        let error = Error::too_many_requests("over_sms_send_rate_limit", "SMS rate limit exceeded");
        limit_error(cx, error, "the server sends no more messages for now", too_many)
    })
}

/// The key that requests are counted by.
fn rate_limit_key(cx: &RequestContext) -> Option<String> {
    let request = ClientRequest {
        headers: &cx.request.headers,
        peer: cx.request.peer,
        sb_forwarded_for: cx.app.policy.security.sb_forwarded_for_enabled,
    };
    find_key(&cx.app.policy.limits.key, request)
}

/// The key of a target together with the network of the request.
fn target_network_key(cx: &RequestContext, target: &str) -> String {
    format!("{target} {}", rate_limit_key(cx).unwrap_or_default())
}

/// The error of an exceeded limit as GoTrue returns it.
///
/// Where the policy enables it, the message names the limit and the time to wait.
fn limit_error(cx: &RequestContext, recorded: Error, why: &str, too_many: RateLimited) -> Error {
    if !cx.app.policy.limits.is_error_detailed {
        return recorded;
    }
    let seconds = whole_seconds(too_many);
    let message = format!("{}: {why}. Please retry after {seconds} seconds.", recorded.message());
    Error::too_many_requests(recorded.code(), message).retry_after(seconds)
}

/// The time to wait in whole seconds, rounded up, at least one.
fn whole_seconds(too_many: RateLimited) -> u64 {
    too_many.wait.as_millis().div_ceil(1000).max(1).try_into().unwrap_or(u64::MAX)
}
