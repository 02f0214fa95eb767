//! Limits log lines that any client can cause with a request.
//!
//! What is left out is counted in the next line.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two lines with one key.
const INTERVAL: Duration = Duration::from_mins(1);
/// The maximum number of keys; events with further ones are left out.
const MAX_KEYS: usize = 64;
/// The maximum length of a key in bytes; the rest of a longer one does not count.
const MAX_KEY_BYTES: usize = 120;

/// Lines of one kind, of which one per minute and key is logged.
#[derive(Debug)]
pub struct LogLimit(Mutex<Vec<LimitedLine>>);

/// The line with one key.
#[derive(Debug)]
struct LimitedLine {
    key: Box<str>,
    logged_at: Instant,
    left_out: u64,
}

impl LogLimit {
    /// Creates a limit under which nothing was logged yet.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns the number of lines left out since the last one, or `None` if this one is left out.
    pub fn admit(&self, key: &str) -> Option<u64> {
        self.admit_at(key, Instant::now())
    }

    fn admit_at(&self, key: &str, now: Instant) -> Option<u64> {
        let key = &key[..key.floor_char_boundary(MAX_KEY_BYTES)];
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |line: &LimitedLine| now.saturating_duration_since(line.logged_at) < INTERVAL;
        if let Some(line) = lines.iter_mut().find(|line| *line.key == *key) {
            if is_recent(line) {
                line.left_out += 1;
                return None;
            }
            line.logged_at = now;
            return Some(std::mem::take(&mut line.left_out));
        }
        if lines.len() >= MAX_KEYS {
            lines.retain(is_recent);
        }
        if lines.len() >= MAX_KEYS {
            return None;
        }
        lines.push(LimitedLine { key: key.into(), logged_at: now, left_out: 0 });
        Some(0)
    }
}

impl Default for LogLimit {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_minute_and_key_counts_those_left_out() {
        let (limit, start) = (LogLimit::new(), Instant::now());
        let at = |key: &str, seconds: u64| limit.admit_at(key, start + Duration::from_secs(seconds));
        assert_eq!(at("stripe", 0), Some(0));
        assert_eq!((at("stripe", 1), at("stripe", 59)), (None, None));
        assert_eq!(at("paypal", 59), Some(0));
        assert_eq!(at("stripe", 60), Some(2));
        assert_eq!(at("stripe", 119), None);
        assert_eq!(at("stripe", 120), Some(1));
    }

    #[test]
    fn keys_are_limited_until_the_first_ones_are_old() {
        let (limit, start) = (LogLimit::new(), Instant::now());
        let admitted = (0..1000).filter(|number| limit.admit_at(&number.to_string(), start).is_some()).count();
        assert_eq!(admitted, MAX_KEYS);
        assert_eq!(limit.admit_at("another", start + INTERVAL), Some(0));
        assert_eq!(limit.admit_at(&"ä".repeat(100), start + INTERVAL), Some(0));
        assert_eq!(limit.admit_at(&"ä".repeat(101), start + INTERVAL), None);
    }
}
