//! Quotas of messages altogether.

use foundation::error::{Error, ErrorCode, Result};
use foundation::limits::Quota;
use platform::limits::{LimitOperation, LimitRefusal, QuotaKind, RateLimited};

use super::limited_request::{LimitSetting, count_all, limit_error, limits_unavailable_error};
use crate::request_context::RequestContext;

/// The quota from which e-mails are taken; `None` if they are not counted.
///
/// With automatic confirmation no e-mail is counted, unless the quota is zero.
fn find_email_quota(cx: &RequestContext) -> Option<Quota> {
    let quota = cx.app.policy.limits.email_sent;
    let is_none_at_all = matches!(quota, Quota::Window { events, .. } if events <= 0.0);
    (!cx.app.policy.mail.autoconfirm || is_none_at_all).then_some(quota)
}

/// The quota from which SMS messages are taken; `None` with automatic confirmation.
fn find_sms_quota(cx: &RequestContext) -> Option<Quota> {
    (!cx.app.policy.sms.autoconfirm).then_some(cx.app.policy.limits.sms_sent)
}

/// Takes one e-mail from the quota; 429 if it is used up.
pub async fn count_email(cx: &RequestContext) -> Result<()> {
    let Some(quota) = find_email_quota(cx) else { return Ok(()) };
    count_one(cx, LimitOperation::Quota(QuotaKind::Email, quota), |too_many| {
        let error = Error::new(ErrorCode::OverEmailSendRateLimit, "email rate limit exceeded");
        let limit = LimitSetting::quota("GOTRUE_RATE_LIMIT_EMAIL_SENT", "e-mails of this server", quota);
        limit_error(cx, error, "the server sends no more mails for now", limit, too_many)
    })
    .await
}

/// Takes one SMS from the quota; 429 if it is used up.
///
/// Numbers with a fixed code do not reach this function.
pub async fn count_sms(cx: &RequestContext) -> Result<()> {
    let Some(quota) = find_sms_quota(cx) else { return Ok(()) };
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
