//! Counts connections, in total and by peer, and refuses those over the limit.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;

use crate::limits::HttpLimits;
use crate::request::ClientAddress;
use tokio::time::timeout;

/// Refused connections that receive a response at once; further ones are closed without a response.
const MAX_CONCURRENT_REFUSALS: usize = 64;
/// Time that a refused connection has to read its response.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

const REFUSAL_RESPONSE: &str = "HTTP/1.1 503 Service Unavailable\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 64\r\n\
    Cache-Control: no-store\r\n\
    Retry-After: 1\r\n\
    Connection: close\r\n\
    \r\n\
    {\"code\":503,\"msg\":\"Too many connections, please retry shortly.\"}";

/// The connections of one listener.
#[derive(Debug)]
pub(crate) struct Admission {
    max_connections: usize,
    max_connections_per_peer: usize,
    proxies: Vec<IpNet>,
    counts: Mutex<Counts>,
    refusal_permits: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_peer: HashMap<IpNet, usize>,
}

/// A counted connection; released when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    admission: Arc<Admission>,
    peer: Option<IpNet>,
}

impl Admission {
    /// Creates the counter with no connections under `limits`.
    pub(crate) fn new(limits: &HttpLimits) -> Arc<Self> {
        let unless_zero = |count: usize| if count == 0 { usize::MAX } else { count };
        Arc::new(Self {
            max_connections: limits.attainable_connections(),
            max_connections_per_peer: unless_zero(limits.max_connections_per_peer),
            proxies: limits.proxies.clone(),
            counts: Mutex::default(),
            refusal_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_REFUSALS)),
        })
    }

    /// Admits a connection from `peer`; `None` if a limit is reached.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionPermit> {
        let peer = self.counted_peer(peer);
        let mut counts = self.counts();
        if counts.all >= self.max_connections {
            return None;
        }
        if let Some(peer) = peer {
            let of_peer = counts.by_peer.entry(peer).or_default();
            if *of_peer >= self.max_connections_per_peer {
                return None;
            }
            *of_peer += 1;
        }
        counts.all += 1;
        Some(ConnectionPermit { admission: Arc::clone(self), peer })
    }

    /// Returns the network a peer is counted by; `None` if the per-peer limit does not apply to it.
    /// Loopback connections are exempt: they come from proxies and tests on this machine.
    fn counted_peer(&self, peer: IpAddr) -> Option<IpNet> {
        let peer = peer.to_canonical();
        let is_exempt = self.max_connections_per_peer == usize::MAX
            || peer.is_loopback()
            || self.proxies.iter().any(|network| network.contains(&peer));
        (!is_exempt).then(|| ClientAddress::new(peer).network())
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut counts = self.admission.counts();
        counts.all -= 1;
        let Some(peer) = self.peer else { return };
        if let Some(of_peer) = counts.by_peer.get_mut(&peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                counts.by_peer.remove(&peer);
            }
        }
    }
}

/// Answers a refused connection with 503 in the background and closes it.
pub(crate) fn refuse(admission: &Admission, mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let Ok(permit) = Arc::clone(&admission.refusal_permits).try_acquire_owned() else { return };
    tokio::spawn(async move {
        let _permit = permit;
        let responded = timeout(REFUSAL_TIMEOUT, async {
            stream.write_all(REFUSAL_RESPONSE.as_bytes()).await?;
            stream.shutdown().await?;
            // Closing with unread request bytes would reset the connection and lose the response.
            let mut unread = [0; 1024];
            while stream.read(&mut unread).await? > 0 {}
            Ok::<_, std::io::Error>(())
        });
        let _ = responded.await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(all: usize, per_peer: usize) -> Arc<Admission> {
        Admission::new(&HttpLimits {
            max_connections: all,
            max_connections_per_peer: per_peer,
            proxies: vec!["10.0.0.0/8".parse().expect("a network")],
            ..HttpLimits::default()
        })
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn refusal_response_has_matching_content_length() {
        let (head, body) = REFUSAL_RESPONSE.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
    }

    #[test]
    fn admit_over_limit_is_refused_until_a_connection_ends() {
        let admission = admission(3, 2);
        let first = admission.admit(ip("192.0.2.1")).expect("admitted");
        let _second = admission.admit(ip("192.0.2.1")).expect("admitted");
        assert!(admission.admit(ip("192.0.2.1")).is_none());
        let _third = admission.admit(ip("192.0.2.2")).expect("admitted");
        assert!(admission.admit(ip("192.0.2.3")).is_none());
        drop(first);
        assert!(admission.admit(ip("192.0.2.1")).is_some());
        assert_eq!(admission.counts().by_peer.len(), 2);
    }

    #[test]
    fn ipv6_network_is_one_peer_and_proxies_are_exempt() {
        let admission = admission(100, 1);
        let _held = admission.admit(ip("2001:db8::1")).expect("admitted");
        assert!(admission.admit(ip("2001:db8::2")).is_none());
        let proxied: Vec<_> = (0..5).map(|_| admission.admit(ip("10.1.2.3"))).collect();
        assert!(proxied.iter().all(Option::is_some));
        let mapped: Vec<_> = (0..2).map(|_| admission.admit(ip("::ffff:192.0.2.9"))).collect();
        assert_eq!(mapped.iter().flatten().count(), 1);
    }
}
