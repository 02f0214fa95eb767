//! Requests for links of orders, counted by network.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::TimeDelta;
use foundation::time::Time;

/// A link is sent again after this time at the earliest.
pub(crate) const INTERVAL: TimeDelta = TimeDelta::minutes(10);
/// The requests of a network within [`INTERVAL`], and the networks that are counted.
const MOST_REQUESTS: u32 = 10;
const MOST_NETWORKS: usize = 4_096;

/// Requests by network.
#[derive(Debug, Default)]
pub(crate) struct LinkRequests(Mutex<HashMap<String, (Time, u32)>>);

impl LinkRequests {
    /// Counts a request; `false` if the network has made too many.
    pub(crate) fn admit(&self, network: &str, now: Time) -> bool {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MOST_NETWORKS {
            counted.retain(|_, (since, _)| now - *since < INTERVAL);
        }
        if counted.len() >= MOST_NETWORKS && !counted.contains_key(network) {
            // Many networks do not shut the page for all others: the limit of each order protects its buyer.
            counted.retain(|_, (_, requests)| *requests > 1);
            if counted.len() >= MOST_NETWORKS {
                return false;
            }
        }
        let (since, requests) = counted.entry(network.to_owned()).or_insert((now, 0));
        if now - *since >= INTERVAL {
            (*since, *requests) = (now, 0);
        }
        *requests += 1;
        *requests <= MOST_REQUESTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_network_are_limited() {
        let requests = LinkRequests::default();
        let start = Time::UNIX_EPOCH;
        for _ in 0..MOST_REQUESTS {
            assert!(requests.admit("192.0.2.1/32", start));
        }
        assert!(!requests.admit("192.0.2.1/32", start));
        assert!(requests.admit("192.0.2.2/32", start));
        assert!(requests.admit("192.0.2.1/32", start + INTERVAL));
        for network in 0..MOST_NETWORKS {
            requests.admit(&network.to_string(), start + INTERVAL);
        }
        assert!(requests.admit("another", start + INTERVAL), "networks with one request make room");
        for network in (0..MOST_NETWORKS).chain(0..MOST_NETWORKS) {
            requests.admit(&network.to_string(), start + INTERVAL * 2);
        }
        assert!(!requests.admit("other", start + INTERVAL * 2));
        assert!(requests.admit("other", start + INTERVAL * 3));
    }
}
