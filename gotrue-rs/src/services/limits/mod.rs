//! Limits of requests, guesses and messages per key, and of messages altogether.

mod guessing;
mod limited_request;
mod messages;

use gotrue_rules::domain::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::policy::{LimitStoreSettings, LimitStoreUrl, Quota};

use self::guessing::count_with_guess;
pub use self::guessing::{Guess, count_code_guess, count_password_guess};
use self::limited_request::{
    LimitSetting, count_all, limit_error, limits_unavailable_error, rate_limit_key, too_many_requests_error,
};
pub use self::messages::{count_public_message, count_user_message, too_soon_error};
pub use crate::ports::limits::LimitedRoute;
use crate::ports::limits::{LimitOperation, LimitRefusal, QuotaKind, RateLimited};
use crate::request_context::RequestContext;

/// Counts this request; 429 if its key made too many. A request without a key is not counted.
pub async fn count_request(cx: &RequestContext, what: LimitedRoute) -> Result<()> {
    let Some(key) = rate_limit_key(cx) else { return Ok(()) };
    let bucket = what.bucket(&cx.app.policy.limits);
    let request = LimitOperation::Take { what: what.into(), key: &key, bucket };
    match count_with_guess(cx, what, request).await {
        None => Ok(()),
        Some(LimitRefusal::Unavailable) => Err(limits_unavailable_error()),
        Some(LimitRefusal::Exceeded(too_many)) => Err(limit_error(
            cx,
            too_many_requests_error(),
            &format!("too many {} from your network", what.description()),
            LimitSetting::bucket(what.setting(), what.description(), bucket),
            too_many,
        )),
    }
}

/// Warns that other servers of the same database count requests by themselves, so that limits multiply.
///
/// Called when a server registers and finds `others`.
pub fn warn_unless_shared(settings: &LimitStoreSettings, others: usize) {
    if others > 0 && settings.url == LimitStoreUrl::Memory {
        tracing::warn!(
            others,
            "other servers use this database and each counts rate limits by itself: set [basalt.limits] url, or \
             GOTRUE_RATE_LIMIT_STORE_URL, to count together"
        );
    }
}

/// Takes one e-mail from the quota; 429 if it is used up.
///
/// With automatic confirmation no e-mail is counted, unless the quota is zero.
pub async fn count_email(cx: &RequestContext) -> Result<()> {
    let quota = cx.app.policy.limits.email_sent;
    let is_none_at_all = matches!(quota, Quota::Window { events, .. } if events <= 0.0);
    if cx.app.policy.mail.autoconfirm && !is_none_at_all {
        return Ok(());
    }
    count_one(cx, LimitOperation::Quota(QuotaKind::Email, quota), |too_many| {
        let error = Error::new(ErrorCode::OverEmailSendRateLimit, "email rate limit exceeded");
        let limit = LimitSetting::quota("GOTRUE_RATE_LIMIT_EMAIL_SENT", "e-mails of this server", quota);
        limit_error(cx, error, "the server sends no more mails for now", limit, too_many)
    })
    .await
}

/// Takes one SMS from the quota; 429 if it is used up.
///
/// With automatic confirmation none is counted. Numbers with a fixed code do not reach this function.
pub async fn count_sms(cx: &RequestContext) -> Result<()> {
    if cx.app.policy.sms.autoconfirm {
        return Ok(());
    }
    let quota = cx.app.policy.limits.sms_sent;
    count_one(cx, LimitOperation::Quota(QuotaKind::Sms, quota), |too_many| {
        let error = Error::new(ErrorCode::OverSmsSendRateLimit, "SMS rate limit exceeded");
        let limit = LimitSetting::quota("GOTRUE_RATE_LIMIT_SMS_SENT", "SMS messages of this server", quota);
        limit_error(cx, error, "the server sends no more messages for now", limit, too_many)
    })
    .await
}

/// Counts one event; `exceeded` returns the error of an exceeded limit.
async fn count_one(
    cx: &RequestContext,
    operation: LimitOperation<'_>,
    exceeded: impl FnOnce(RateLimited) -> Error,
) -> Result<()> {
    match count_all(cx, &[operation]).await.refusal {
        None => Ok(()),
        Some((_, LimitRefusal::Exceeded(too_many))) => Err(exceeded(too_many)),
        Some((_, LimitRefusal::Unavailable)) => Err(limits_unavailable_error()),
    }
}
