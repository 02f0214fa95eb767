//! Response times that tell nothing about accounts.
//!
//! Equal work leaves differences of a tenth of a millisecond, which many requests reveal. Responses of routes that anyone
//! may ask about any address are therefore sent at the end of a time step.

use std::time::Duration;

use gotrue_rules::domain::policy::Policy;
use tokio::time::{Instant, sleep};

/// The time step: longer than the usual request for a mail or check of a code.
const STEP: Duration = Duration::from_millis(5);
/// The routes whose requests name an address or a code.
const PATHS: [&str; 6] = ["/magiclink", "/otp", "/recover", "/resend", "/signup", "/verify"];

/// The start of a request whose response is sent at the end of a time step.
#[derive(Debug, Clone, Copy)]
pub(super) struct SteppedResponse(Instant);

impl SteppedResponse {
    /// Starts the time of a request; `None` for other routes and without the policy `equal_work`.
    pub(super) fn start(policy: &Policy, path: &str) -> Option<Self> {
        (policy.security.is_equal_work_enabled && PATHS.contains(&path)).then(|| Self(Instant::now()))
    }

    /// Waits for the end of the step.
    pub(super) async fn wait(self) {
        sleep(remaining_step(self.0.elapsed())).await;
    }
}

/// Returns the time until the end of the step that contains this moment.
fn remaining_step(elapsed: Duration) -> Duration {
    STEP.saturating_sub(Duration::from_nanos_u128(elapsed.as_nanos() % STEP.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_sent_at_the_end_of_a_step() {
        let micros = Duration::from_micros;
        for (elapsed, remaining) in [(0, 5000), (1, 4999), (2700, 2300), (4999, 1), (5000, 5000), (26_100, 3900)] {
            assert_eq!(remaining_step(micros(elapsed)), micros(remaining), "{elapsed}");
        }
    }

    #[test]
    fn only_routes_of_addresses_and_codes_with_equal_work_wait() {
        let (recorded, mut hardened) = (Policy::default(), Policy::default());
        hardened.security.is_equal_work_enabled = true;
        assert!(SteppedResponse::start(&hardened, "/otp").is_some());
        assert!(SteppedResponse::start(&hardened, "/token").is_none());
        assert!(SteppedResponse::start(&recorded, "/otp").is_none());
    }
}
