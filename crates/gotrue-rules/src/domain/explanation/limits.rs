//! Explains a refusal by a rate limit: which one, what is left, and when the next request is allowed.

use std::borrow::Cow;
use std::time::Duration;

use foundation::explanation::DecisionRecord;
use foundation::limits::{Bucket, Quota};
use foundation::time::Time;

/// What an explanation says about a limit that refused a request.
#[derive(Debug, Clone)]
pub struct ExceededLimit<'a> {
    /// The setting of the limit.
    pub setting: &'static str,
    /// What is counted, in a few words.
    pub counted: Cow<'a, str>,
    /// The limit in words: `30 in 300 s, burst 30`.
    pub allowed: String,
    /// The time until the next request is allowed.
    pub wait: Duration,
}

/// Describes a bucket in words.
pub fn describe_bucket(bucket: Bucket) -> String {
    format!("{} in {} s, burst {}", bucket.events, bucket.per.as_secs_f64(), bucket.burst)
}

/// Describes a quota in words.
pub fn describe_quota(quota: Quota) -> String {
    match quota {
        Quota::Window { events, per } => format!("{events} in {} s", per.as_secs_f64()),
        Quota::Bucket { size, every } => format!("burst {size}, one more every {} s", every.as_secs_f64()),
    }
}

/// Explains a refusal by a limit.
pub fn explain_limit(limit: ExceededLimit<'_>, now: Time) -> DecisionRecord {
    let ExceededLimit { setting, counted, allowed, wait } = limit;
    let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1);
    let reset = now.checked_add_signed(chrono::TimeDelta::from_std(wait).unwrap_or_default()).unwrap_or(now);
    DecisionRecord::refused("rate_limit.exceeded", format!("Too many {counted}: the limit is {allowed}."))
        .with_setting(setting)
        .with_value(allowed.clone())
        .with_input("counted", counted.into_owned())
        .with_input("limit", allowed)
        .with_input("remaining", 0)
        .with_input("reset_seconds", seconds)
        .with_input("reset_at", reset.to_rfc3339())
        .with_remedy(format!("Wait {seconds} s, or raise {{setting}}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_explained_with_its_reset() {
        let limit = ExceededLimit {
            setting: "GOTRUE_RATE_LIMIT_OTP",
            counted: "one-time codes".into(),
            allowed: describe_bucket(Bucket::per_five_minutes(12.0)),
            wait: Duration::from_millis(1_500),
        };
        let record = explain_limit(limit, Time::UNIX_EPOCH);
        assert_eq!(record.value.as_deref(), Some("12 in 300 s, burst 30"));
        assert_eq!(record.remedy.as_deref(), Some("Wait 2 s, or raise {setting}."));
        let input = |name: &str| record.inputs.iter().find(|(label, _)| *label == name).map(|(_, value)| value.clone());
        assert_eq!((input("remaining"), input("reset_seconds")), (Some(0.into()), Some(2.into())));
        assert_eq!(input("reset_at"), Some("1970-01-01T00:00:01.500+00:00".into()));
    }

    #[test]
    fn quota_is_described_in_words() {
        let hour = Duration::from_hours(1);
        assert_eq!(describe_quota(Quota::Window { events: 30.0, per: hour }), "30 in 3600 s");
        assert_eq!(describe_quota(Quota::Bucket { size: 2.0, every: hour }), "burst 2, one more every 3600 s");
    }
}
