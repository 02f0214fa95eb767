//! Counts connections, all and by peer, and refuses those over the limit.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::limits::HttpLimits;
use crate::network::network_of;
use tokio::time::timeout;

/// Refused connections that are told so at once; of further ones the connection is closed without a response.
const TOLD_AT_ONCE: usize = 64;
/// How long a refused connection may take to read its response.
const TELLING: Duration = Duration::from_secs(2);

const REFUSAL: &str = "HTTP/1.1 503 Service Unavailable\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 64\r\n\
    Cache-Control: no-store\r\n\
    Retry-After: 1\r\n\
    Connection: close\r\n\
    \r\n\
    {\"code\":503,\"msg\":\"Too many connections, please retry shortly.\"}";

/// The connections of one listener.
#[derive(Debug)]
pub struct Admission {
    most: usize,
    most_per_peer: usize,
    proxies: Vec<IpNet>,
    counts: Mutex<Counts>,
    telling: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_peer: HashMap<IpNet, usize>,
}

/// A place among the connections, free again when dropped.
#[derive(Debug)]
pub struct Permit {
    admission: Arc<Admission>,
    peer: Option<IpNet>,
}

impl Admission {
    /// No connections yet, under these limits.
    pub fn new(limits: &HttpLimits) -> Arc<Self> {
        let unless_zero = |count: usize| if count == 0 { usize::MAX } else { count };
        Arc::new(Self {
            most: limits.attainable_connections(),
            most_per_peer: unless_zero(limits.max_connections_per_peer),
            proxies: limits.proxies.clone(),
            counts: Mutex::default(),
            telling: Arc::new(Semaphore::new(TOLD_AT_ONCE)),
        })
    }

    /// A place for a connection from there; none if there are too many.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Permit> {
        let peer = self.counted_peer(peer);
        let mut counts = self.counts();
        if counts.all >= self.most {
            return None;
        }
        if let Some(peer) = peer {
            let of_peer = counts.by_peer.entry(peer).or_default();
            if *of_peer >= self.most_per_peer {
                return None;
            }
            *of_peer += 1;
        }
        counts.all += 1;
        Some(Permit { admission: Arc::clone(self), peer })
    }

    /// What is counted for a peer: its network, unless the limit does not apply to it. Connections of this machine are
    /// those of its proxies and tests.
    fn counted_peer(&self, peer: IpAddr) -> Option<IpNet> {
        let peer = peer.to_canonical();
        let is_exempt = self.most_per_peer == usize::MAX
            || peer.is_loopback()
            || self.proxies.iter().any(|network| network.contains(&peer));
        (!is_exempt).then(|| network_of(peer))
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
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

/// Answers a connection that is not admitted with 503, in the background, and closes it.
pub fn refuse(admission: &Admission, mut stream: TcpStream) {
    let Ok(place) = Arc::clone(&admission.telling).try_acquire_owned() else { return };
    tokio::spawn(async move {
        let _place = place;
        let told = timeout(TELLING, async {
            stream.write_all(REFUSAL.as_bytes()).await?;
            stream.shutdown().await?;
            // Closed with a request unread, the connection would be reset and the response lost.
            let mut unread = [0; 1024];
            while stream.read(&mut unread).await? > 0 {}
            Ok::<_, std::io::Error>(())
        });
        let _ = told.await;
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
    fn refusal_states_its_length() {
        let (head, body) = REFUSAL.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
    }

    #[test]
    fn connections_over_either_limit_are_refused_until_one_ends() {
        let admission = admission(3, 2);
        let first = admission.admit(ip("192.0.2.1")).expect("a place");
        let _second = admission.admit(ip("192.0.2.1")).expect("a place");
        assert!(admission.admit(ip("192.0.2.1")).is_none());
        let _third = admission.admit(ip("192.0.2.2")).expect("a place");
        assert!(admission.admit(ip("192.0.2.3")).is_none());
        drop(first);
        assert!(admission.admit(ip("192.0.2.1")).is_some());
        assert_eq!(admission.counts().by_peer.len(), 2);
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer_and_a_proxy_is_none() {
        let admission = admission(100, 1);
        let _held = admission.admit(ip("2001:db8::1")).expect("a place");
        assert!(admission.admit(ip("2001:db8::2")).is_none());
        let proxied: Vec<_> = (0..5).map(|_| admission.admit(ip("10.1.2.3"))).collect();
        assert!(proxied.iter().all(Option::is_some));
        let mapped: Vec<_> = (0..2).map(|_| admission.admit(ip("::ffff:192.0.2.9"))).collect();
        assert_eq!(mapped.iter().flatten().count(), 1);
    }
}
