//! First requests of the form's page by network, to recognise forms that are sent without reading.
//!
//! In memory and coarse: another server, a restart or a full table know nothing, which counts neither for nor against
//! a visitor. It needs neither a cookie nor a script, and the page stays equal for all visitors.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use chrono::TimeDelta;
use foundation::time::Time;
use ipnet::IpNet;
use platform::clock::SharedClock;

/// The shortest time in which a visitor reads the page and writes something.
const SHORTEST_VISIT: TimeDelta = TimeDelta::seconds(2);
/// How long a visit counts.
const LONGEST_VISIT: TimeDelta = TimeDelta::hours(1);
/// The maximum number of networks.
const MAX_NETWORKS: usize = 10_000;

/// The first visits of the last hour.
pub(crate) struct FormVisits {
    clock: SharedClock,
    first: Mutex<HashMap<IpNet, Time>>,
}

/// Omits the networks.
impl fmt::Debug for FormVisits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormVisits").finish_non_exhaustive()
    }
}

impl FormVisits {
    /// Creates an empty record.
    pub(crate) fn new(clock: SharedClock) -> Self {
        Self { clock, first: Mutex::default() }
    }

    /// Records that a network requested the page.
    pub(super) fn record(&self, network: IpNet) {
        let now = self.clock.now();
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.len() >= MAX_NETWORKS {
            first.retain(|_, time| is_recent(*time, now));
        }
        let is_full = first.len() >= MAX_NETWORKS;
        match first.get_mut(&network) {
            Some(time) if !is_recent(*time, now) => *time = now,
            None if !is_full => drop(first.insert(network, now)),
            _ => {}
        }
    }

    /// Returns whether a network requested the page, but too recently to have read it.
    pub(super) fn is_too_fast(&self, network: IpNet) -> bool {
        let now = self.clock.now();
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get(&network).is_some_and(|time| now - *time < SHORTEST_VISIT)
    }
}

fn is_recent(time: Time, now: Time) -> bool {
    now - time < LONGEST_VISIT
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use platform::testing::FakeClock;

    use super::*;

    fn network(number: u32) -> IpNet {
        IpNet::from(std::net::IpAddr::from(number.to_be_bytes()))
    }

    #[test]
    fn form_right_after_the_first_page_is_too_fast() {
        let clock = FakeClock::at(Time::UNIX_EPOCH);
        let visits = FormVisits::new(Arc::new(clock.clone()));
        assert!(!visits.is_too_fast(network(1)), "an unknown network");
        visits.record(network(1));
        assert!(visits.is_too_fast(network(1)) && !visits.is_too_fast(network(2)));
        clock.advance(TimeDelta::seconds(2));
        visits.record(network(1));
        assert!(!visits.is_too_fast(network(1)), "the first visit counts");
        clock.advance(TimeDelta::hours(2));
        visits.record(network(1));
        assert!(visits.is_too_fast(network(1)), "an hour later it is another visit");
    }

    #[test]
    fn number_of_networks_is_limited() {
        let clock = FakeClock::at(Time::UNIX_EPOCH);
        let visits = FormVisits::new(Arc::new(clock.clone()));
        let limit = u32::try_from(MAX_NETWORKS).expect("a small number");
        (0..=limit).for_each(|number| visits.record(network(number)));
        assert!(visits.is_too_fast(network(limit - 1)) && !visits.is_too_fast(network(limit)));
        clock.advance(TimeDelta::hours(1));
        visits.record(network(limit));
        assert!(visits.is_too_fast(network(limit)));
    }
}
