//! Which site a request comes from.
//!
//! A browser sends `Origin` with every request that changes something, and `Sec-Fetch-Site` where it is new enough.

use gotrue_rules::domain::redirect::is_loopback_host;
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Method, StatusCode};
use http_edge::request::{FetchSite, is_call_of_area};
use url::{Host, Url};

use super::error::DeskError;

/// The site of a request that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnOrigin {
    /// Whether the page was loaded by HTTPS.
    pub is_https: bool,
}

/// Returns whether requests of this method change something.
pub(crate) fn is_change(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

/// Requires that a request comes from a page of the own site.
///
/// The own sites are the configured URLs, and the host that the request names: a browser sets both headers itself. If
/// the first URL is one of HTTPS, pages of plain HTTP are another site, because others may have written them. If it is one
/// of this machine, so are other names: anybody can point a name of theirs at this machine (DNS rebinding).
///
/// # Errors
/// 403 `desk_csrf`.
pub(crate) fn require_own_origin(headers: &HeaderMap, own_urls: &[Url]) -> Result<OwnOrigin, DeskError> {
    let refused = |message| {
        DeskError::new(StatusCode::FORBIDDEN, "desk_csrf", message)
            .hint("Open the desk by the address of the shop, and send the request from its page.")
    };
    if FetchSite::of(headers).is_some_and(|site| site != FetchSite::SameOrigin) {
        return Err(refused("The request comes from another site."));
    }
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else {
        return Err(refused("The request has no origin."));
    };
    let origin = origin.to_str().ok().and_then(|text| Url::parse(text).ok()).filter(Url::has_host);
    let Some(origin) = origin else { return Err(refused("The request has an unreadable origin.")) };
    let needs_https = own_urls.first().is_some_and(|url| url.scheme() == "https");
    let is_local = own_urls.first().and_then(Url::host_str).is_some_and(is_loopback_host);
    let is_named = is_named_host(headers, &origin)
        && (origin.scheme() == "https" || !needs_https)
        && (!is_local || is_address_or_loopback(&origin));
    if is_named || own_urls.iter().any(|url| url.origin() == origin.origin()) {
        return Ok(OwnOrigin { is_https: origin.scheme() == "https" });
    }
    Err(refused("The request comes from another site."))
}

/// Requires that a request does not name a document outside the desk as its sender.
///
/// # Errors
/// 403 `desk_csrf`.
pub(crate) fn require_own_document(headers: &HeaderMap, mount: &str) -> Result<(), DeskError> {
    if is_call_of_area(headers, mount) {
        return Ok(());
    }
    let refused = DeskError::new(StatusCode::FORBIDDEN, "desk_csrf", "The request comes from a page outside the desk.");
    Err(refused.hint("Open the desk, and send the request from its page."))
}

/// Returns whether `Host` names the host and port of the origin.
fn is_named_host(headers: &HeaderMap, origin: &Url) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) else { return false };
    let named = Url::parse(&format!("{}://{host}", origin.scheme()));
    matches!(origin.scheme(), "http" | "https") && named.is_ok_and(|named| named.origin() == origin.origin())
}

/// Returns whether the host is an address or a loopback name, which no name server can point elsewhere.
fn is_address_or_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_loopback_host(name),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

    fn check(headers: &[(HeaderName, &str)]) -> Option<bool> {
        check_at("https://shop.example/shop", headers)
    }

    fn check_at(own: &str, headers: &[(HeaderName, &str)]) -> Option<bool> {
        let own = [Url::parse(own).expect("a URL")];
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).expect("text")));
        require_own_origin(&headers.collect(), &own).ok().map(|own| own.is_https)
    }

    #[test]
    fn origins_of_the_own_site_pass() {
        assert_eq!(check(&[(ORIGIN, "https://shop.example")]), Some(true));
        assert_eq!(check(&[(ORIGIN, "https://shop.example"), (SEC_FETCH_SITE, "same-origin")]), Some(true));
        let local = [(ORIGIN, "http://localhost:9"), (HOST, "localhost:9")];
        assert_eq!(check_at("http://127.0.0.1:9", &local), Some(false));
        assert_eq!(check(&[(ORIGIN, "https://a.example"), (HOST, "a.example:443")]), Some(true));
    }

    #[test]
    fn a_local_server_has_no_names_of_others() {
        let by_name = |host: &'static str, origin: &'static str| {
            check_at("http://127.0.0.1:9", &[(ORIGIN, origin), (HOST, host)])
        };
        assert_eq!(by_name("rebind.example:9", "http://rebind.example:9"), None);
        assert_eq!(by_name("127.0.0.1.rebind.example:9", "http://127.0.0.1.rebind.example:9"), None);
        assert_eq!(by_name("192.168.1.7:9", "http://192.168.1.7:9"), Some(false));
        assert_eq!(by_name("[::1]:9", "http://[::1]:9"), Some(false));
    }

    #[test]
    fn other_origins_are_refused() {
        let refused: [&[(HeaderName, &str)]; 10] = [
            &[],
            &[(HOST, "shop.example")],
            &[(ORIGIN, "null"), (HOST, "shop.example")],
            &[(ORIGIN, "http://shop.example"), (HOST, "shop.example")],
            &[(ORIGIN, "https://evil.example"), (HOST, "shop.example")],
            &[(ORIGIN, "http://shop.example:81"), (HOST, "shop.example")],
            &[(ORIGIN, "https://shop.example"), (SEC_FETCH_SITE, "same-site")],
            &[(ORIGIN, "https://shop.example"), (SEC_FETCH_SITE, "none")],
            &[(ORIGIN, "https://shop.example"), (ORIGIN, "https://evil.example")],
            &[(ORIGIN, "ftp://a.example"), (HOST, "a.example")],
        ];
        for headers in refused {
            assert_eq!(check(headers), None, "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_origins_are_not_own(origin in "[ -~]{0,60}", host in "[ -~]{0,60}") {
            let allowed = check(&[(ORIGIN, &origin), (HOST, &host)]);
            let parsed = Url::parse(&origin).ok().and_then(|url| url.host_str().map(str::to_owned));
            let host = host.to_ascii_lowercase();
            let is_plausible = parsed.is_some_and(|name| {
                name == "shop.example" || host.contains(&name) || origin.contains("xn--") || !host.is_ascii()
            });
            prop_assert!(allowed.is_none() || is_plausible, "{origin} {host}");
        }
    }
}
