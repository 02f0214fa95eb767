//! Limits messages to one address or number, whether or not a user has it.
//!
//! A limit for existing users only would reveal them.

use std::time::Duration;

use foundation::error::{Error, ErrorCode, Result};
use foundation::limits::Bucket;
use gotrue_rules::domain::contact::Contact;
use platform::limits::{CountedEvent, LimitOperation, LimitRefusal};

use super::limited_request::{
    LimitSetting, count_all, limit_error, limits_unavailable_error, record_limit, target_network_key, whole_seconds,
};
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
    count_message(cx, to, &MessageLimits::of_public(cx, to)).await
}

/// Counts a message that a signed-in user requests to an own address or number, or for a factor.
///
/// # Errors
///
/// 429 if there were too many.
pub async fn count_user_message(cx: &RequestContext, to: &Contact) -> Result<()> {
    count_message(cx, to, &MessageLimits::of_user(cx, to)).await
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

/// The limits of a message to one recipient, with the keys of their counters.
struct MessageLimits {
    address: String,
    mailbox: String,
    network: String,
    lifetime: Duration,
    /// The limit of the recipient; `None` if the policy has none.
    bucket: Option<Bucket>,
    /// The minimum interval.
    gap: Option<Bucket>,
}

impl MessageLimits {
    /// Those of a message that a signed-in user requests.
    ///
    /// Numbers with a fixed code have none: nothing is sent to them.
    fn of_user(cx: &RequestContext, to: &Contact) -> Self {
        let policy = &cx.app.policy;
        let (mailbox, is_fixed) = match to {
            Contact::Email(email) => (email.rate_limit_key(), false),
            Contact::Phone(phone) => {
                (phone.as_str().to_owned(), policy.sms.test_code(phone.as_str(), cx.now).is_some())
            }
        };
        Self {
            address: to.as_str().to_owned(),
            mailbox,
            network: target_network_key(cx, to.as_str()),
            lifetime: channel_limits(cx, to).lifetime,
            bucket: policy.limits.targets.messages.filter(|_| !is_fixed),
            gap: None,
        }
    }

    /// Those of a message that is requested without authentication.
    fn of_public(cx: &RequestContext, to: &Contact) -> Self {
        let policy = &cx.app.policy;
        let per = channel_limits(cx, to).frequency;
        let is_fixed = matches!(to, Contact::Phone(phone) if policy.sms.test_code(phone.as_str(), cx.now).is_some());
        let is_counted = policy.limits.targets.is_message_gap_counted && !is_fixed && !per.is_zero();
        let gap = Bucket { events: 1.0, per, burst: 1.0, evicted_after: per };
        Self { gap: is_counted.then_some(gap), ..Self::of_user(cx, to) }
    }

    /// What is counted, the minimum interval first.
    fn operations(&self) -> Vec<LimitOperation<'_>> {
        let take = |what, key, bucket| LimitOperation::Take { what, key, bucket };
        let gap = self.gap.map(|gap| take(CountedEvent::MessageGap, self.address.as_str(), gap));
        let messages = self.bucket.map(|bucket| take(CountedEvent::Messages, self.mailbox.as_str(), bucket));
        let mut operations: Vec<_> = gap.into_iter().chain(messages).collect();
        if !operations.is_empty() {
            let grant =
                LimitOperation::Grant { to: &self.network, tries: GRANTED_CODE_ATTEMPTS, lifetime: self.lifetime };
            operations.push(grant);
        }
        operations
    }
}

/// Counts a message by its recipient.
async fn count_message(cx: &RequestContext, to: &Contact, limits: &MessageLimits) -> Result<()> {
    let operations = limits.operations();
    if operations.is_empty() {
        return Ok(());
    }
    let code = channel_limits(cx, to).code;
    match (count_all(cx, &operations).await.refusal, limits.bucket) {
        (None, _) => Ok(()),
        (Some((_, LimitRefusal::Unavailable)), _) => Err(limits_unavailable_error()),
        (Some((0, LimitRefusal::Exceeded(too_many))), _) if limits.gap.is_some() => {
            Err(too_soon_error(cx, code, whole_seconds(too_many).cast_signed()))
        }
        (Some((_, LimitRefusal::Exceeded(too_many))), None) => {
            Err(too_soon_error(cx, code, whole_seconds(too_many).cast_signed()))
        }
        (Some((_, LimitRefusal::Exceeded(too_many))), Some(bucket)) => {
            let error = Error::new(code, "Message rate limit reached");
            let limit = LimitSetting::bucket("basalt.rate_limit.messages", "messages to one recipient", bucket);
            let why = "too many messages to one recipient; the latest is still good";
            Err(limit_error(cx, error, why, limit, too_many))
        }
    }
}

/// The limits of one channel.
struct ChannelLimits {
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
