//! Limits messages to one address or number, whether or not a user has it.
//!
//! A limit for existing users only would reveal them.

use std::time::Duration;

use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::policy::Bucket;

use super::limited_request::{
    LimitSetting, count_all, limit_error, limits_unavailable_error, record_limit, target_network_key, whole_seconds,
};
use crate::ports::limits::{CountedEvent, LimitOperation, LimitRefusal};
use crate::request_context::RequestContext;

/// Wrong codes that the network that requested a message may send, whatever other networks do.
const GRANTED_CODE_ATTEMPTS: u8 = 3;

/// Counts a message requested without authentication.
///
/// The requesting network may then try the code.
///
/// # Errors
///
/// 429 if the previous message is too recent, or if there were too many.
pub async fn count_public_message(cx: &RequestContext, to: &Contact) -> Result<()> {
    let Some(bucket) = message_bucket(cx, to) else { return Ok(()) };
    let gap = Bucket { events: 1.0, per: channel_limits(cx, to).frequency, burst: 1.0, ..bucket };
    count_message(cx, to, bucket, Some(gap).filter(|gap| !gap.per.is_zero())).await
}

/// Counts a message that a signed-in user requests to an own address or number.
///
/// # Errors
///
/// 429 if there were too many.
pub async fn count_user_message(cx: &RequestContext, to: &Contact) -> Result<()> {
    let Some(bucket) = message_bucket(cx, to) else { return Ok(()) };
    count_message(cx, to, bucket, None).await
}

/// The error of a message that follows the previous one too soon.
pub fn too_soon_error(cx: &RequestContext, code: ErrorCode, seconds: i64) -> Error {
    let message = format!("For security purposes, you can only request this after {seconds} seconds.");
    let (setting, gap) = match code {
        ErrorCode::OverSmsSendRateLimit => ("GOTRUE_SMS_MAX_FREQUENCY", cx.app.policy.sms.max_frequency),
        _ => ("GOTRUE_SMTP_MAX_FREQUENCY", cx.app.policy.mail.max_frequency),
    };
    let allowed = format!("one in {} s", gap.as_secs_f64());
    let limit = LimitSetting { setting, counted: "messages to one recipient", allowed };
    record_limit(cx, limit, Duration::from_secs(seconds.max(1).unsigned_abs()));
    let error = Error::new(code, message);
    if cx.app.policy.limits.is_error_detailed { error.retry_after(seconds.max(1).unsigned_abs()) } else { error }
}

/// The limit; `None` if the policy has none.
///
/// Numbers with a fixed code have none either: nothing is sent to them.
fn message_bucket(cx: &RequestContext, to: &Contact) -> Option<Bucket> {
    let is_fixed = matches!(to, Contact::Phone(phone) if cx.app.policy.sms.test_code(phone.as_str(), cx.now).is_some());
    cx.app.policy.limits.targets.messages.filter(|_| !is_fixed)
}

/// Counts a message by its mailbox or number, after the minimum interval `gap` if there is one.
async fn count_message(cx: &RequestContext, to: &Contact, bucket: Bucket, gap: Option<Bucket>) -> Result<()> {
    let mailbox = match to {
        Contact::Email(email) => email.rate_limit_key(),
        Contact::Phone(phone) => phone.as_str().to_owned(),
    };
    let ChannelLimits { code, lifetime, .. } = channel_limits(cx, to);
    let network = target_network_key(cx, to.as_str());
    let gap: Option<LimitOperation<'_>> =
        gap.map(|bucket| LimitOperation::Take { what: CountedEvent::MessageGap, key: to.as_str(), bucket });
    let operations = gap.into_iter().chain([
        LimitOperation::Take { what: CountedEvent::Messages, key: &mailbox, bucket },
        LimitOperation::Grant { to: &network, tries: GRANTED_CODE_ATTEMPTS, lifetime },
    ]);
    let operations: Vec<_> = operations.collect();
    match count_all(cx, &operations).await.refusal {
        None => Ok(()),
        Some((_, LimitRefusal::Unavailable)) => Err(limits_unavailable_error()),
        Some((0, LimitRefusal::Exceeded(too_many))) if gap.is_some() => {
            Err(too_soon_error(cx, code, whole_seconds(too_many).cast_signed()))
        }
        Some((_, LimitRefusal::Exceeded(too_many))) => {
            let error = Error::new(code, "Message rate limit reached");
            let limit = LimitSetting::bucket("basalt.rate_limit.messages", "messages to one recipient", bucket);
            let why = "too many messages to one recipient; the latest is still good";
            Err(limit_error(cx, error, why, limit, too_many))
        }
    }
}

/// The limits of one channel.
struct ChannelLimits {
    /// The error code.
    code: ErrorCode,
    /// The minimum interval between two messages.
    frequency: Duration,
    /// The lifetime of the code in a message.
    lifetime: Duration,
}

fn channel_limits(cx: &RequestContext, to: &Contact) -> ChannelLimits {
    let policy = &cx.app.policy;
    let (code, frequency, life) = match to {
        Contact::Email(_) => (ErrorCode::OverEmailSendRateLimit, policy.mail.max_frequency, policy.mail.otp_exp),
        Contact::Phone(_) => (ErrorCode::OverSmsSendRateLimit, policy.sms.max_frequency, policy.sms.otp_exp),
    };
    ChannelLimits { code, frequency, lifetime: life }
}
