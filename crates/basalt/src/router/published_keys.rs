//! Whose requests are answered while the keys are those that the Supabase CLI publishes.
//!
//! Everybody has the keys and the secret behind them, so that each token may be forged: the sender decides, not what it sends.
//! Programs on this machine send anything. Browsers name the host that they believe to talk to, and the origin of the page.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use gotrue_rules::domain::redirect::{is_loopback_host, is_loopback_url};
use http::header::{AUTHORIZATION, HOST, ORIGIN, UPGRADE};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_edge::request::{APIKEY, ApiKeyRole, BearerWhitespace, FetchSite, cors, parse_bearer, single_header};
use percent_encoding::percent_decode_str;
use url::Url;

use super::area::Area;
use super::error_responses;
use super::paths::STORAGE;
use crate::api_keys::{ApiKeyGateway, query_pairs};

/// Headers with credentials that anybody can make with the published secret.
const SIGNED_HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-amz-security-token"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-signature"),
];

/// Whose requests are answered while the keys are published.
#[derive(Clone)]
pub(crate) struct AllowedSenders {
    /// The host of the server's URL, in lower case.
    host: Option<String>,
    allows_origin: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl AllowedSenders {
    /// Allows requests for the host of this URL and for this machine, of pages on this machine and of these origins.
    pub(crate) fn new(url: &str, allows_origin: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let host = Url::parse(url).ok().and_then(|url| Some(url.host_str()?.to_ascii_lowercase()));
        Self { host, allows_origin: Arc::new(allows_origin) }
    }

    fn is_own_name(&self, host: &str) -> bool {
        is_loopback_host(host) || self.host.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(host))
    }

    /// Whether every host that a request names is this server. A page whose name leads to this machine names its own.
    fn is_own_host(&self, request: &Request) -> bool {
        let is_own = |authority: &Authority| !authority.as_str().contains('@') && self.is_own_name(authority.host());
        let named = request.headers().get_all(HOST).iter().map(|host| Authority::try_from(host.as_bytes()).ok());
        let mut hosts = named.chain(request.uri().authority().cloned().map(Some)).peekable();
        hosts.peek().is_some() && hosts.all(|host| host.is_some_and(|host| is_own(&host)))
    }

    /// Whether a page of another site sends a request, as browsers say; other clients say nothing.
    fn is_foreign_page(&self, headers: &HeaderMap) -> bool {
        if !headers.contains_key(ORIGIN) {
            return FetchSite::of(headers) == Some(FetchSite::CrossSite);
        }
        let Some(origin) = single_header(headers, &ORIGIN).present() else { return true };
        // The host of the request is this server's at this point.
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let is_same = origin.split_once("://").is_some_and(|(_, of_page)| Some(of_page) == host);
        !is_same && !is_loopback_url(origin) && !(self.allows_origin)(origin)
    }

    /// Refuses a request of a page that may not use published keys, however it presents them.
    ///
    /// Pages elsewhere may be visitors: with the publishable key or the key of the role `anon`, or without credentials, such as
    /// the redirect of a provider. The frames of a WebSocket can carry any token.
    pub(super) fn refuse(&self, gateway: &ApiKeyGateway, area: Area, request: &Request) -> Option<Response> {
        // Both areas are chosen by a host of the operator's settings.
        let has_configured_host = matches!(area, Area::Desk | Area::Content);
        if !has_configured_host && !self.is_own_host(request) {
            return Some(error_responses::foreign_host());
        }
        let headers = request.headers();
        // A preflight has no credentials, and its refusal would hide the explanation.
        if cors::is_preflight(request.method(), headers) || !self.is_foreign_page(headers) {
            return None;
        }
        let is_visitor =
            !is_s3(request.uri().path()) && !headers.contains_key(UPGRADE) && !has_other_credentials(gateway, request);
        (!is_visitor).then(error_responses::foreign_page)
    }
}

/// Whether a request has credentials beside the public keys.
fn has_other_credentials(gateway: &ApiKeyGateway, request: &Request) -> bool {
    let headers = request.headers();
    let is_public = |key: &str| gateway.find_role(key) == Some(ApiKeyRole::Anon);
    let is_public_value = |value: &HeaderValue| value.to_str().is_ok_and(is_public);
    let is_public_token = |value: &HeaderValue| {
        let text = value.to_str().ok();
        text.and_then(|value| parse_bearer(value, BearerWhitespace::Any).present()).is_some_and(is_public)
    };
    let is_other_parameter = |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
        let name = name.to_ascii_lowercase();
        let is_signed_url = name == "token" && request.uri().path().starts_with(STORAGE);
        is_signed_url
            || name.starts_with("x-amz-")
            || matches!(&*name, "apikey" | "access_token" | "jwt") && !is_public(&value)
    };
    SIGNED_HEADERS.iter().any(|name| headers.contains_key(name))
        || headers.get_all(AUTHORIZATION).iter().any(|value| !is_public_token(value))
        || headers.get_all(APIKEY).iter().any(|value| !is_public_value(value))
        || query_pairs(request.uri()).any(is_other_parameter)
}

/// Whether a path is of the S3 protocol, as a service may decode it.
fn is_s3(path: &str) -> bool {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let mut parts = decoded.split('/').filter(|part| !part.is_empty());
    let is_storage = parts.next() == Some("storage") && parts.next() == Some("v1");
    is_storage && parts.next().is_some_and(|part| part.eq_ignore_ascii_case("s3"))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

    fn request(target: &str, headers: &[(HeaderName, &'static str)]) -> Request {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = target.parse().expect("a target");
        for (name, value) in headers {
            request.headers_mut().append(name, HeaderValue::from_static(value));
        }
        request
    }

    #[test]
    fn hosts_are_this_machine_or_the_own_name() {
        let senders = AllowedSenders::new("https://dev.example.com:8443", |_| false);
        let is_own = |target: &str, hosts: &[&'static str]| {
            let hosts: Vec<_> = hosts.iter().map(|host| (HOST, *host)).collect();
            senders.is_own_host(&request(target, &hosts))
        };
        for host in
            ["localhost", "LOCALHOST:1", "a.localhost:54321", "127.0.0.1:54321", "[::1]:54321", "dev.example.com"]
        {
            assert!(is_own("/", &[host]), "{host}");
        }
        for host in
            ["rebind.evil.example:54321", "127.0.0.1.nip.io", "localhost.evil.example", "evil.example@localhost", ""]
        {
            assert!(!is_own("/", &[host]), "{host}");
        }
        assert!(is_own("https://localhost/", &[]), "HTTP/2 names the host in the target");
        assert!(!is_own("https://evil.example/", &["localhost"]) && !is_own("/", &["localhost", "evil.example"]));
        assert!(!is_own("/", &[]), "no host");
    }

    #[test]
    fn pages_are_judged_by_their_origin() {
        let senders = AllowedSenders::new("http://127.0.0.1:54321", |origin| origin == "https://app.example.com");
        let is_foreign =
            |headers: &[(HeaderName, &'static str)]| senders.is_foreign_page(request("/", headers).headers());
        for origin in ["http://localhost:3000", "http://127.0.0.1:5173", "https://app.example.com"] {
            assert!(!is_foreign(&[(ORIGIN, origin), (SEC_FETCH_SITE, "cross-site")]), "{origin}");
        }
        for origin in ["https://evil.example", "null", "", "http://localhost.evil.example"] {
            assert!(is_foreign(&[(ORIGIN, origin)]), "{origin}");
        }
        assert!(is_foreign(&[(ORIGIN, "http://localhost"), (ORIGIN, "https://evil.example")]));
        assert!(is_foreign(&[(SEC_FETCH_SITE, "cross-site")]));
        assert!(
            !is_foreign(&[])
                && !is_foreign(&[(SEC_FETCH_SITE, "same-site")])
                && !is_foreign(&[(SEC_FETCH_SITE, "none")])
        );
    }

    #[test]
    fn paths_of_the_s3_protocol_are_recognized_decoded() {
        for path in ["/storage/v1/s3", "/storage/v1/s3/a", "/storage/v1/%733/a", "/storage/v1//s3/a"] {
            assert!(is_s3(path), "{path}");
        }
        for path in ["/storage/v1/object/s3", "/storage/v1/s3x", "/s3", "/rest/v1/s3"] {
            assert!(!is_s3(path), "{path}");
        }
    }
}
