//! Which proxy a request takes, by the rules of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` that Go programs follow:
//! this machine is never asked for by proxy.

use std::net::IpAddr;
use std::sync::Arc;

use gotrue_rules::domain::secret::Secret;
use ipnet::IpNet;
use reqwest::Url;

/// The proxies and their exceptions.
#[derive(Clone)]
pub(super) struct Rules {
    https: Option<Url>,
    http: Option<Url>,
    direct: Arc<[Direct]>,
}

/// One entry of `NO_PROXY`, without its port.
enum Direct {
    Everything,
    Net(IpNet),
    /// A host and, unless it is written with a leading dot, the host itself.
    Name {
        suffix: String,
        itself: bool,
    },
}

impl Rules {
    pub(super) fn read(https: Option<&Secret>, http: Option<&Secret>, no_proxy: &str) -> Result<Self, String> {
        let entries = no_proxy.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        Ok(Self {
            https: https.map(proxy_url).transpose()?,
            http: http.map(proxy_url).transpose()?,
            direct: entries.map(direct).collect(),
        })
    }

    /// The proxy for this address, if it takes one.
    pub(super) fn proxy_of(&self, url: &Url) -> Option<&Url> {
        let proxy = if url.scheme() == "https" { self.https.as_ref() } else { self.http.as_ref() }?;
        let host = url.host_str()?.trim_matches(['[', ']']).to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        let this_machine = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        let excepted = self.direct.iter().any(|entry| match entry {
            Direct::Everything => true,
            Direct::Net(net) => address.is_some_and(|address| net.contains(&address)),
            Direct::Name { suffix, itself } => host
                .strip_suffix(suffix.as_str())
                .is_some_and(|rest| rest.ends_with('.') || (*itself && rest.is_empty())),
        });
        (!this_machine && !excepted).then_some(proxy)
    }
}

/// `host:port` is taken as `http://host:port`.
fn proxy_url(text: &Secret) -> Result<Url, String> {
    let text = text.reveal();
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    Url::parse(&whole).map_err(|error| format!("the proxy's address is no URL ({error}); write it as http://host:port"))
}

fn direct(entry: &str) -> Direct {
    if entry == "*" {
        return Direct::Everything;
    }
    let without_port = match entry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(':') => host,
        _ => entry,
    };
    let bare = without_port.trim_matches(['[', ']']);
    if let Some(net) = bare.parse().ok().or_else(|| bare.parse::<IpAddr>().ok().map(IpNet::from)) {
        return Direct::Net(net);
    }
    let name = bare.trim_start_matches('*').to_ascii_lowercase();
    Direct::Name { itself: !name.starts_with('.'), suffix: name.trim_start_matches('.').to_owned() }
}
