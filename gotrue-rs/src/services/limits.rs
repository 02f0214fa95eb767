//! How often somebody may ask, and how many messages go out.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::policy::{LimitKey, Quota};

use crate::cx::Cx;
pub use crate::ports::limits::Limited;
use crate::ports::limits::{Request, Sent, key_of};

/// Counts this request; 429 when its key asks too often. A request without a key is not counted.
pub fn take(cx: &Cx, what: Limited) -> Result<()> {
    let policy = &cx.app.policy;
    let request = Request {
        headers: &cx.request.headers,
        peer: cx.request.peer,
        sb_forwarded_for: policy.security.sb_forwarded_for_enabled,
    };
    let Some(key) = key_of(&policy.limits.key, request) else { return Ok(()) };
    if cx.app.limits.take(what, &key, &policy.limits, cx.now) {
        return Ok(());
    }
    Err(match policy.limits.key {
        LimitKey::Header(_) => Error::too_many("over_request_rate_limit", "Request rate limit reached"),
        LimitKey::Peer { .. } => told(cx, what),
    })
}

/// Where the answer need not be the recorded one, it says which limit that was and when to come back.
fn told(cx: &Cx, what: Limited) -> Error {
    let bucket = what.bucket(&cx.app.policy.limits);
    let seconds = if bucket.events > 0.0 { bucket.per.div_f64(bucket.events).as_secs().max(1) } else { 3600 };
    let message = format!("Request rate limit reached ({what:?}); please retry after {seconds} seconds.");
    Error::too_many("over_request_rate_limit", message).retry_after(seconds)
}

/// Takes one mail out of the quota; 429 when it is used up. Accounts that are confirmed at once send none, unless
/// the operator allows no mails at all.
pub fn take_mail(cx: &Cx) -> Result<()> {
    let quota = cx.app.policy.limits.email_sent;
    let is_none_at_all = matches!(quota, Quota::Window { events, .. } if events <= 0.0);
    if cx.app.policy.mail.autoconfirm && !is_none_at_all {
        return Ok(());
    }
    if cx.app.limits.take_quota(Sent::Email, quota, cx.now) {
        return Ok(());
    }
    Err(Error::too_many("over_email_send_rate_limit", "email rate limit exceeded"))
}

/// Takes one text out of the quota; 429 when it is used up. Where numbers are confirmed at once none are counted.
pub fn take_text(cx: &Cx) -> Result<()> {
    if cx.app.policy.sms.autoconfirm || cx.app.limits.take_quota(Sent::Sms, cx.app.policy.limits.sms_sent, cx.now) {
        return Ok(());
    }
    Err(Error::too_many("over_sms_send_rate_limit", "SMS rate limit exceeded"))
}
