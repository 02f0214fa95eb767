//! Permits of concurrent requests: a total, and shares of it that one service and one network can have.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use http_edge::request::ClientAddress;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::GatewayLimits;
use crate::service::Service;

/// The network of a client: an address, or the /64 of IPv6.
type Network = IpAddr;

/// Counts requests that are forwarded.
#[derive(Debug, Clone)]
pub(crate) struct Permits {
    total: Arc<Semaphore>,
    services: Shares<&'static str>,
    networks: Shares<Network>,
}

/// The permit of a request; dropping it lets another request in.
#[derive(Debug)]
pub(crate) struct RequestPermit {
    _total: OwnedSemaphorePermit,
    _service: Share<&'static str>,
    _network: Option<Share<Network>>,
}

impl Permits {
    /// Creates the permits; `has_several_services`: none of them may take all.
    pub(crate) fn new(limits: &GatewayLimits, has_several_services: bool) -> Self {
        let total = limits.max_requests.min(Semaphore::MAX_PERMITS);
        let of_service = if has_several_services { total - total / 8 } else { total };
        Self {
            total: Arc::new(Semaphore::new(total)),
            services: Shares::new(of_service),
            networks: Shares::new(limits.max_requests_per_network),
        }
    }

    /// Takes a permit; `None` if there is none for the service and the network. This machine has no share of its own: its
    /// requests may be those of all users of an application.
    pub(crate) fn acquire(&self, service: Service, client: Option<ClientAddress>) -> Option<RequestPermit> {
        let service = self.services.take(service.name())?;
        let remote = client.filter(|client| !client.address().is_loopback());
        let network = match remote {
            Some(client) => Some(self.networks.take(client.network().network())?),
            None => None,
        };
        let total = Arc::clone(&self.total).try_acquire_owned().ok()?;
        Some(RequestPermit { _total: total, _service: service, _network: network })
    }
}

/// How many permits each key has, and the most it can have.
#[derive(Debug)]
struct Shares<K> {
    taken: Arc<Mutex<HashMap<K, usize>>>,
    limit: usize,
}

impl<K> Clone for Shares<K> {
    fn clone(&self) -> Self {
        Self { taken: Arc::clone(&self.taken), limit: self.limit }
    }
}

/// One permit of a key.
#[derive(Debug)]
struct Share<K: Eq + Hash + Copy> {
    key: K,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Copy> Shares<K> {
    fn new(limit: usize) -> Self {
        Self { taken: Arc::default(), limit }
    }

    fn take(&self, key: K) -> Option<Share<K>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.get(&key).copied().unwrap_or_default();
        if count >= self.limit {
            return None;
        }
        taken.insert(key, count + 1);
        drop(taken);
        Some(Share { key, taken: Arc::clone(&self.taken) })
    }
}

impl<K: Eq + Hash + Copy> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(taken.remove(&self.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire(permits: &Permits, service: Service, address: &str) -> Option<RequestPermit> {
        permits.acquire(service, Some(ClientAddress::new(address.parse().expect("an address"))))
    }

    #[test]
    fn networks_and_services_have_shares() {
        let limits = GatewayLimits { max_requests: 16, max_requests_per_network: 4, ..GatewayLimits::default() };
        let permits = Permits::new(&limits, true);
        let one = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"];
        let mut held: Vec<_> =
            one.map(|address| acquire(&permits, Service::Storage, address).expect("a permit")).into();
        assert!(acquire(&permits, Service::Rest, "2001:db8::5").is_none(), "the network has its share");
        held.push(acquire(&permits, Service::Storage, "2001:db8:1::1").expect("another network"));
        held.extend(std::iter::from_fn(|| acquire(&permits, Service::Storage, "127.0.0.1")));
        assert_eq!(held.len(), 14, "the service has its share");
        held.extend(std::iter::from_fn(|| permits.acquire(Service::Rest, None)));
        assert_eq!(held.len(), 16);
        drop(held);
        assert!(permits.networks.taken.lock().expect("the counts").is_empty());
        assert!(acquire(&permits, Service::Storage, "2001:db8::1").is_some());
    }

    #[test]
    fn refused_request_takes_nothing() {
        let limits = GatewayLimits { max_requests: 1, max_requests_per_network: 1, ..GatewayLimits::default() };
        let permits = Permits::new(&limits, false);
        let first = acquire(&permits, Service::Rest, "192.0.2.1").expect("a permit");
        assert!(acquire(&permits, Service::Rest, "192.0.2.2").is_none());
        drop(first);
        assert!(acquire(&permits, Service::Rest, "192.0.2.2").is_some());
    }
}
