//! Restricts requests to untrusted URLs to public hosts (SSRF protection).
//!
//! This excludes the local machine, private networks and cloud metadata services. Names are resolved here, and the
//! checked address is the one connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use url::Host;

/// Why a URL must not be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForbiddenUrl {
    /// Neither http nor https.
    #[error("only http and https addresses may be called, not {0}")]
    Scheme(String),
    /// No host, or a host that is not public.
    #[error("the address is not a public one")]
    NotPublic,
    /// User name or password in the URL.
    #[error("the address has a user name in it")]
    UserInfo,
    /// Too many redirects.
    #[error("more than {MAX_REDIRECTS} redirects")]
    Redirects,
}

const MAX_REDIRECTS: usize = 3;

/// Checks a URL without resolving its host.
pub fn check_url(url: &Url) -> Result<(), ForbiddenUrl> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(ForbiddenUrl::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ForbiddenUrl::UserInfo);
    }
    let public = match url.host() {
        Some(Host::Ipv4(address)) => is_public(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => is_public(IpAddr::V6(address)),
        Some(Host::Domain(name)) => !name.is_empty(),
        None => false,
    };
    if public { Ok(()) } else { Err(ForbiddenUrl::NotPublic) }
}

/// Whether an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Whether an IPv4 address is public.
///
/// Documentation networks count as public: they reach nothing internal, and the reference treats them as public.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (b == 18 || b == 19))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99);
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            embedded(high, low)
        }
        // Only 2000::/3 is allocated; its first /23 is for protocols, 2001:db8::/32 and 3fff::/20 for documentation.
        [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
        [0x3fff, second, ..] => second >= 0x1000,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

/// A resolver that returns only public addresses.
#[derive(Debug)]
pub(super) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // A private address among public ones indicates an attack, so the whole name is rejected.
            if found.is_empty() || !found.iter().all(|address| is_public(address.ip())) {
                return Err(ForbiddenUrl::NotPublic.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Follows few redirects, each checked like the first URL.
pub(super) fn redirect_policy() -> Policy {
    Policy::custom(|attempt| {
        let verdict = if attempt.previous().len() > MAX_REDIRECTS {
            Err(ForbiddenUrl::Redirects)
        } else {
            check_url(attempt.url())
        };
        match verdict {
            Ok(()) => attempt.follow(),
            Err(forbidden) => attempt.error(forbidden),
        }
    })
}
