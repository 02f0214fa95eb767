//! Limits of requests, guesses and messages per key, and of messages altogether.

mod guessing;
mod limited_request;
mod messages;

use gotrue_rules::domain::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::policy::Quota;

pub use self::guessing::{Guess, count_code_guess, count_password_guess};
use self::limited_request::{LimitSetting, limit_error, rate_limit_key, too_many_requests_error};
pub use self::messages::{count_public_message, count_user_message, too_soon_error};
pub use crate::ports::limits::LimitedRoute;
use crate::ports::limits::QuotaKind;
use crate::request_context::RequestContext;

/// Counts this request; 429 if its key made too many. A request without a key is not counted.
pub fn count_request(cx: &RequestContext, what: LimitedRoute) -> Result<()> {
    let policy = &cx.app.policy.limits;
    let Some(key) = rate_limit_key(cx) else { return Ok(()) };
    cx.app.limits.take(what, &key, what.bucket(policy), cx.now).map_err(|too_many| {
        limit_error(
            cx,
            too_many_requests_error(),
            &format!("too many {} from your network", what.description()),
            LimitSetting::bucket(what.setting(), what.description(), what.bucket(policy)),
            too_many,
        )
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
        let error = Error::new(ErrorCode::OverEmailSendRateLimit, "email rate limit exceeded");
        let limit = LimitSetting::quota("GOTRUE_RATE_LIMIT_EMAIL_SENT", "e-mails of this server", quota);
        limit_error(cx, error, "the server sends no more mails for now", limit, too_many)
    })
}

/// Takes one SMS from the quota; 429 if it is used up.
///
/// With automatic confirmation none is counted. Numbers with a fixed code do not reach this function.
pub fn count_sms(cx: &RequestContext) -> Result<()> {
    if cx.app.policy.sms.autoconfirm {
        return Ok(());
    }
    let quota = cx.app.policy.limits.sms_sent;
    cx.app.limits.take_quota(QuotaKind::Sms, quota, cx.now).map_err(|too_many| {
        let error = Error::new(ErrorCode::OverSmsSendRateLimit, "SMS rate limit exceeded");
        let limit = LimitSetting::quota("GOTRUE_RATE_LIMIT_SMS_SENT", "SMS messages of this server", quota);
        limit_error(cx, error, "the server sends no more messages for now", limit, too_many)
    })
}
