//! Times in seconds, shown relative to the request.

use std::collections::HashMap;

/// How many seconds a time may be away from a multiple of ten and still be shown as it.
const TOLERANCE: f64 = 4.0;

/// What times were shown as.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownTimes {
    /// By their bits; `None` if each is computed anew.
    shown: Option<HashMap<u64, String>>,
    /// Another moment that new times may be near.
    other: Option<f64>,
}

impl KnownTimes {
    /// Keeps what times are shown as.
    pub(super) fn remember(&mut self) {
        self.shown.get_or_insert_default();
    }

    /// Sets the other moment of new times.
    pub(super) fn allow(&mut self, seconds: f64) {
        self.other = Some(seconds);
    }

    /// Returns `<now>`, `<now+3600>` or the like.
    pub(super) fn show(&mut self, seconds: f64, now: f64) -> String {
        let Some(shown) = &mut self.shown else { return nearest(seconds, now).unwrap_or_else(|| exact(seconds, now)) };
        if let Some(known) = shown.get(&seconds.to_bits()) {
            return known.clone();
        }
        let near = nearest(seconds, now).or_else(|| nearest(seconds, self.other?));
        let text = near.unwrap_or_else(|| exact(seconds, now));
        shown.insert(seconds.to_bits(), text.clone());
        text
    }
}

/// Returns the multiple of ten seconds that a time is near.
fn nearest(seconds: f64, now: f64) -> Option<String> {
    let delta = seconds - now;
    let near = (delta / 10.0).round_ties_even() * 10.0;
    match (delta - near).abs() <= TOLERANCE {
        true if near == 0.0 => Some("<now>".to_owned()),
        true => Some(format!("<now{near:+.0}>")),
        false => None,
    }
}

fn exact(seconds: f64, now: f64) -> String {
    format!("<now{:+.0}>", (seconds - now).trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_shown_relative_to_the_request() {
        let mut times = KnownTimes::default();
        for (seconds, shown) in
            [(100.0, "<now>"), (96.0, "<now>"), (95.5, "<now-4>"), (3704.0, "<now+3600>"), (3705.0, "<now+3605>")]
        {
            assert_eq!(times.show(seconds, 100.0), shown, "{seconds}");
        }
    }

    #[test]
    fn remembered_time_does_not_age() {
        let mut times = KnownTimes::default();
        times.remember();
        assert_eq!(times.show(100.0, 100.5), "<now>");
        assert_eq!(times.show(100.0, 105.0), "<now>");
        assert_eq!(times.show(99.5, 105.0), "<now-5>", "another time is as old as it is");
    }

    #[test]
    fn new_time_is_near_the_start_or_the_end_of_its_request() {
        let mut times = KnownTimes::default();
        times.remember();
        times.allow(105.0);
        assert_eq!(times.show(105.0, 100.0), "<now>");
        assert_eq!(times.show(3705.0, 100.0), "<now+3600>");
        assert_eq!(times.show(98.0, 100.0), "<now>", "the start of the request decides where it can");
    }
}
