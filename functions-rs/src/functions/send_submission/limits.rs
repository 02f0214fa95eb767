//! How much one visitor may send and how much may be mailed to one address: buckets kept as rows, so that they hold across
//! restarts and servers. Pure: what a bucket takes, and what a refusal says.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rules::domain::user::Time;

/// At most so many at once, made up for evenly over a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// How many; at least 1.
    pub count: u32,
    /// The time in which an empty bucket fills.
    pub per: Duration,
}

/// The limits of submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmissionLimits {
    /// Submissions from one address, or IPv6 /64. Default 20 an hour.
    pub submissions: Limit,
    /// Confirmations that one address, or IPv6 /64, may cause. Default 5 an hour.
    pub confirmations_by_peer: Limit,
    /// Confirmations to one mailbox, however its address is written. Default 3 a day.
    pub confirmations_to_address: Limit,
    /// Mails to the owner about single submissions in an hour, from all visitors together; what comes beyond is told in a
    /// digest. At most [`MOST_NOTICES`]. Default 60.
    pub notices: u16,
}

/// The most notices an hour: as many as `basalt.notice_slots` has rows.
pub const MOST_NOTICES: u16 = 1000;

impl Default for SubmissionLimits {
    fn default() -> Self {
        let hour = Duration::from_hours(1);
        Self {
            submissions: Limit { count: 20, per: hour },
            confirmations_by_peer: Limit { count: 5, per: hour },
            confirmations_to_address: Limit { count: 3, per: Duration::from_hours(24) },
            notices: 60,
        }
    }
}

impl Limit {
    /// The time after which one more fits.
    pub fn refill(&self) -> Duration {
        self.per / self.count.max(1)
    }

    /// How long to wait for a bucket that will be full then.
    pub fn wait(&self, full_at: Time, now: Time) -> Duration {
        let span = |duration| TimeDelta::from_std(duration).unwrap_or(TimeDelta::days(3650));
        let free_at = full_at + span(self.refill()) - span(self.per);
        (free_at - now).to_std().unwrap_or(Duration::ZERO).max(Duration::from_secs(1))
    }

    /// What the visitor is told.
    pub fn refusal(&self, wait: Duration) -> String {
        let (count, per, wait) = (self.count, spoken(self.per), spoken(wait));
        format!("Too many submissions from your network: at most {count} in {per}. Try again in {wait}")
    }
}

/// A duration in the largest unit that it fills, rounded up.
fn spoken(duration: Duration) -> String {
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
    fn a_refusal_names_the_limit_and_the_wait() {
        let limit = Limit { count: 20, per: Duration::from_hours(1) };
        let said = limit.refusal(Duration::from_secs(121));
        assert_eq!(said, "Too many submissions from your network: at most 20 in 1 hour. Try again in 3 minutes");
    }

    #[test]
    fn the_wait_is_until_one_more_fits() {
        let limit = Limit { count: 4, per: Duration::from_secs(40) };
        let now: Time = "2026-11-21T12:00:00Z".parse().expect("a time");
        for (full_in, wait) in [(40, 10), (35, 5), (31, 1), (30, 1), (0, 1)] {
            assert_eq!(limit.wait(now + TimeDelta::seconds(full_in), now).as_secs(), wait, "{full_in}");
        }
    }

    #[test]
    fn durations_are_spoken_in_one_unit() {
        for (seconds, text) in
            [(1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (61, "2 minutes"), (86_400, "24 hours")]
        {
            assert_eq!(spoken(Duration::from_secs(seconds)), text);
        }
        assert_eq!(spoken(Duration::from_millis(1500)), "2 seconds");
    }
}
