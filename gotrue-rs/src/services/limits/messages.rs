//! Messages asked for one address or number, whether or not anybody has it: a limit that only met those with an account
//! would tell who has one.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::policy::Bucket;

use super::{explained, from_this_network, whole_seconds};
use crate::cx::Cx;
use crate::ports::limits::Counted;

/// Wrong codes that who asked for a message may type, whatever others do.
const TRIES: u8 = 3;

/// Counts a message that anybody may ask for; 429 if another was asked for a moment ago, or if there were too many. Who
/// asks may try the code that is sent.
pub fn anyone_asks(cx: &Cx, to: &Contact) -> Result<()> {
    let Some(bucket) = limit(cx, to) else { return Ok(()) };
    let gap = Bucket { events: 1.0, per: sending(cx, to).frequency, burst: 1.0, ..bucket };
    if !gap.per.is_zero() {
        let taken = cx.app.limits.take(Counted::MessageGap, to.as_str(), gap, cx.now);
        taken.map_err(|too_many| too_soon(cx, sending(cx, to).code, whole_seconds(too_many).cast_signed()))?;
    }
    count(cx, to, bucket)
}

/// Counts a message that somebody signed in asks for, to an address or number of theirs; 429 if there were too many.
pub fn member_asks(cx: &Cx, to: &Contact) -> Result<()> {
    let Some(bucket) = limit(cx, to) else { return Ok(()) };
    count(cx, to, bucket)
}

/// The refusal of a message that comes too soon after another.
pub fn too_soon(cx: &Cx, code: &'static str, seconds: i64) -> Error {
    let message = format!("For security purposes, you can only request this after {seconds} seconds.");
    let error = Error::too_many(code, message);
    if cx.app.policy.limits.explained { error.retry_after(seconds.max(1).unsigned_abs()) } else { error }
}

/// None where the policy has none, and for numbers with a fixed code, to which nothing is sent.
fn limit(cx: &Cx, to: &Contact) -> Option<Bucket> {
    let is_fixed = matches!(to, Contact::Phone(phone) if cx.app.policy.sms.test_code(phone.as_str(), cx.now).is_some());
    cx.app.policy.limits.targets.messages.filter(|_| !is_fixed)
}

fn count(cx: &Cx, to: &Contact, bucket: Bucket) -> Result<()> {
    let mailbox = match to {
        Contact::Email(email) => email.mailbox(),
        Contact::Phone(phone) => phone.as_str().to_owned(),
    };
    let Sending { code, life, .. } = sending(cx, to);
    cx.app.limits.take(Counted::Messages, &mailbox, bucket, cx.now).map_err(|too_many| {
        let error = Error::too_many(code, "Message rate limit reached");
        explained(cx, error, "too many messages to one recipient; the latest is still good", too_many)
    })?;
    let until = TimeDelta::from_std(life).ok().and_then(|life| cx.now.checked_add_signed(life)).unwrap_or(cx.now);
    cx.app.limits.grant(&from_this_network(cx, to.as_str()), TRIES, until, cx.now);
    Ok(())
}

/// How messages of a kind are sent.
struct Sending {
    /// The code of a refusal.
    code: &'static str,
    /// The gap between two messages.
    frequency: Duration,
    /// How long what is in them is good.
    life: Duration,
}

fn sending(cx: &Cx, to: &Contact) -> Sending {
    let policy = &cx.app.policy;
    let (code, frequency, life) = match to {
        Contact::Email(_) => ("over_email_send_rate_limit", policy.mail.max_frequency, policy.mail.otp_exp),
        Contact::Phone(_) => ("over_sms_send_rate_limit", policy.sms.max_frequency, policy.sms.otp_exp),
    };
    Sending { code, frequency, life }
}
