//! Rate limits of submissions and of mails to one address.
//! The buckets are database rows, so that they apply across restarts and servers; the calculations are pure.
//!
//! The limits of the auth API (`crates/platform/src/limits/counters.rs`) are another algorithm: their buckets hold a
//! number of tokens in memory and expire. A bucket here is one point in time, when it is full, which a single SQL
//! statement can compare and advance.

use std::time::Duration;

use chrono::TimeDelta;
use foundation::time::Time;

/// A token bucket: `count` at once, refilled evenly over `per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucketLimit {
    /// The capacity; at least 1.
    pub count: u32,
    /// The time in which an empty bucket fills.
    pub per: Duration,
}

/// How many submissions visitors may send, and how many mails these may cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmissionLimits {
    /// Submissions from one address, or IPv6 /64.
    /// Default 20 per hour.
    pub submissions: TokenBucketLimit,
    /// Confirmations caused by one address, or IPv6 /64.
    /// Default 5 per hour.
    pub confirmations_by_peer: TokenBucketLimit,
    /// Confirmations to one mailbox, in any spelling of its address.
    /// Default 3 per day.
    pub confirmations_to_address: TokenBucketLimit,
    /// Mails to the owner about single submissions per hour, for all visitors.
    /// Further submissions are reported in a digest. At most [`MAX_NOTICES`]. Default 60.
    pub notices: u16,
}

/// The highest limit of notices per hour: the number of rows of `basalt.notice_slots`.
pub const MAX_NOTICES: u16 = 1000;

impl Default for SubmissionLimits {
    fn default() -> Self {
        let hour = Duration::from_hours(1);
        Self {
            submissions: TokenBucketLimit { count: 20, per: hour },
            confirmations_by_peer: TokenBucketLimit { count: 5, per: hour },
            confirmations_to_address: TokenBucketLimit { count: 3, per: Duration::from_hours(24) },
            notices: 60,
        }
    }
}

impl TokenBucketLimit {
    /// Returns the time in which one token is refilled.
    pub fn refill_interval(&self) -> Duration {
        self.per / self.count.max(1)
    }

    /// Returns the time until a token is available in a bucket that is full at `full_at`.
    pub fn time_until_available(&self, full_at: Time, now: Time) -> Duration {
        let span = |duration| TimeDelta::from_std(duration).unwrap_or(TimeDelta::days(3650));
        let free_at = full_at + span(self.refill_interval()) - span(self.per);
        (free_at - now).to_std().unwrap_or(Duration::ZERO).max(Duration::from_secs(1))
    }

    /// Formats the error message for the visitor.
    pub fn error_message(&self, wait: Duration) -> String {
        let (count, per, wait) = (self.count, format_duration(self.per), format_duration(wait));
        format!("Too many submissions from your network: at most {count} in {per}. Try again in {wait}")
    }
}

/// Formats a duration in the largest unit that it fills, rounded up.
fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3600), "hour"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_message_contains_limit_and_wait() {
        let limit = TokenBucketLimit { count: 20, per: Duration::from_hours(1) };
        let value = limit.error_message(Duration::from_secs(121));
        assert_eq!(value, "Too many submissions from your network: at most 20 in 1 hour. Try again in 3 minutes");
    }

    #[test]
    fn wait_ends_when_a_token_is_available() {
        let limit = TokenBucketLimit { count: 4, per: Duration::from_secs(40) };
        let now: Time = "2026-11-21T12:00:00Z".parse().expect("a time");
        for (full_in, wait) in [(40, 10), (35, 5), (31, 1), (30, 1), (0, 1)] {
            assert_eq!(limit.time_until_available(now + TimeDelta::seconds(full_in), now).as_secs(), wait, "{full_in}");
        }
    }

    #[test]
    fn durations_are_formatted_in_one_unit() {
        for (seconds, text) in
            [(1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (61, "2 minutes"), (86_400, "24 hours")]
        {
            assert_eq!(format_duration(Duration::from_secs(seconds)), text);
        }
        assert_eq!(format_duration(Duration::from_millis(1500)), "2 seconds");
    }
}
