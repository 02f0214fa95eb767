//! Selects the proxy of a request by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
//!
//! The rules are those of Go's net/http.
//!
//! Loopback hosts are never reached through a proxy.

use std::net::IpAddr;
use std::sync::Arc;

use foundation::secret::Secret;
use ipnet::IpNet;
use reqwest::Url;

/// The proxies and their exceptions.
#[derive(Clone)]
pub(super) struct ProxyRules {
    https: Option<Url>,
    http: Option<Url>,
    direct: Arc<[NoProxyEntry]>,
}

/// One entry of `NO_PROXY`, without its port.
enum NoProxyEntry {
    Everything,
    Net(IpNet),
    /// A domain with its subdomains; `itself` is false if it is written with a leading dot.
    Name {
        suffix: String,
        itself: bool,
    },
}

impl ProxyRules {
    pub(super) fn parse(https: Option<&Secret>, http: Option<&Secret>, no_proxy: &str) -> Result<Self, String> {
        let entries = no_proxy.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        Ok(Self {
            https: https.map(parse_proxy).transpose()?,
            http: http.map(parse_proxy).transpose()?,
            direct: entries.map(parse_entry).collect(),
        })
    }

    /// Returns the proxy for this URL, if it uses one.
    pub(super) fn find_proxy(&self, url: &Url) -> Option<&Url> {
        let proxy = if url.scheme() == "https" { self.https.as_ref() } else { self.http.as_ref() }?;
        let host = url.host_str()?.trim_matches(['[', ']']).to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        let this_machine = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        let excepted = self.direct.iter().any(|entry| match entry {
            NoProxyEntry::Everything => true,
            NoProxyEntry::Net(net) => address.is_some_and(|address| net.contains(&address)),
            NoProxyEntry::Name { suffix, itself } => host
                .strip_suffix(suffix.as_str())
                .is_some_and(|rest| rest.ends_with('.') || (*itself && rest.is_empty())),
        });
        (!this_machine && !excepted).then_some(proxy)
    }
}

/// Parses a proxy; `host:port` means `http://host:port`.
fn parse_proxy(text: &Secret) -> Result<Url, String> {
    let text = text.reveal();
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    Url::parse(&whole).map_err(|error| format!("the proxy's address is no URL ({error}); write it as http://host:port"))
}

fn parse_entry(entry: &str) -> NoProxyEntry {
    if entry == "*" {
        return NoProxyEntry::Everything;
    }
    let without_port = match entry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(':') => host,
        _ => entry,
    };
    let bare = without_port.trim_matches(['[', ']']);
    if let Some(net) = bare.parse().ok().or_else(|| bare.parse::<IpAddr>().ok().map(IpNet::from)) {
        return NoProxyEntry::Net(net);
    }
    let name = bare.trim_start_matches('*').to_ascii_lowercase();
    NoProxyEntry::Name { itself: !name.starts_with('.'), suffix: name.trim_start_matches('.').to_owned() }
}
