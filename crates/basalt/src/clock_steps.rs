//! Reports changes of the system clock: expiry of tokens and codes depends on it.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use platform::clock::{Clock, SystemClock};
use telemetry::catalog::CLOCK_STEPS;

/// The interval of comparisons.
const INTERVAL: Duration = Duration::from_secs(3);
/// The smallest change that is reported; corrections by NTP are slower.
const SMALLEST_STEP: TimeDelta = TimeDelta::seconds(1);

/// Compares the clock with the time that has passed, until it is dropped.
pub(crate) async fn watch() {
    let (mut clock, mut seen) = (SystemClock.now(), Instant::now());
    loop {
        SystemClock.timeout(INTERVAL).await;
        let (now, looked) = (SystemClock.now(), Instant::now());
        if let Some(step) = find_step(now - clock, looked - seen) {
            let is_forward = step > TimeDelta::zero();
            CLOCK_STEPS.increment(&[if is_forward { "forward" } else { "backward" }]);
            tracing::warn!(
                seconds = step.num_seconds(),
                "the system clock changed: tokens and codes expire by the new time; check the time synchronization"
            );
        }
        (clock, seen) = (now, looked);
    }
}

/// Returns how far the clock moved beyond the time that passed; `None` if it is less than a step.
fn find_step(moved: TimeDelta, passed: Duration) -> Option<TimeDelta> {
    let step = moved.checked_sub(&TimeDelta::from_std(passed).ok()?)?;
    (step.abs() >= SMALLEST_STEP).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_second_or_more_are_steps() {
        for (moved_ms, expected_ms) in [
            (3_000, None),
            (3_999, None),
            (2_001, None),
            (4_000, Some(1_000)),
            (2_000, Some(-1_000)),
            (0, Some(-3_000)),
            (-86_400_000, Some(-86_403_000)),
            (3_603_000, Some(3_600_000)),
        ] {
            let step = find_step(TimeDelta::milliseconds(moved_ms), INTERVAL);
            assert_eq!(step, expected_ms.map(TimeDelta::milliseconds), "{moved_ms}");
        }
    }
}
