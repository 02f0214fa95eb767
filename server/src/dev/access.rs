//! Who may open a page below `/_dev`: the one check of all of them, also of those to come. It reads the request as the
//! client sent it, before the edge drops or rewrites a header.
//!
//! The peer's address is not enough: a page of a foreign site runs in a browser on this machine, and a reverse proxy on this
//! machine connects from it. Nor is `Host`: nginx and Apache send the upstream's own name unless told otherwise.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request};
use gotrue_rules::domain::redirect::is_loopback_host;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, Version};
use subtle::ConstantTimeEq;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Headers that only an intermediary adds; `x-forwarded-…` beside them.
const FORWARDING: [&str; 11] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "true-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
    "sb-forwarded-for",
    "cdn-loop",
];

/// Whom a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience<'a> {
    /// Callers on this machine, and no page of another site.
    ThisMachine,
    /// The same, and browsers on this machine that another site sends here in a tab of its own.
    ThisMachineAndVisitors,
    /// Callers on this machine, and whoever has the inbox token.
    TokenHolders,
    /// Everybody: a page without secrets, at this authority or a name of this machine, framed by no other site.
    Everybody {
        /// Host and port at which the world reaches the server, in lower case.
        authority: &'a str,
    },
}

/// What the operator decided about the pages.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Whether callers on this machine are served without a token.
    is_open_here: bool,
    token: Option<String>,
}

impl Access {
    /// `is_open_here`: callers on this machine need no token. `token` lets callers from elsewhere read the inbox.
    pub fn new(is_open_here: bool, token: Option<String>) -> Self {
        Self { is_open_here, token }
    }

    /// Whether this caller may open a page for that audience.
    pub fn permits(&self, request: &Request, audience: Audience<'_>) -> bool {
        match audience {
            Audience::Everybody { authority } => is_for_page_at(request, authority),
            Audience::ThisMachine => self.is_open_here && is_from_here(request),
            Audience::ThisMachineAndVisitors => {
                self.is_open_here && (is_from_here(request) || is_navigation_from_here(request))
            }
            Audience::TokenHolders => {
                self.is_open_here && is_from_here(request)
                    || self.token.as_deref().is_some_and(|token| has_token(request, token))
            }
        }
    }

    /// What a caller is told that is not let in.
    pub fn refusal(&self, audience: Audience<'_>) -> &'static str {
        match audience {
            Audience::Everybody { .. } => {
                "This page is opened in a tab of its own, at the address of [api] external_url in config.toml, or at \
                 http://127.0.0.1 or http://localhost.\n"
            }
            _ if !self.is_open_here => {
                "The development pages are off, because config.toml names a public address or a mail server.\n\
                 To have them on this machine: set development_pages = true under [basalt].\n\
                 From elsewhere: set [basalt.inbox] token and add ?token=… to the address.\n"
            }
            Audience::TokenHolders => {
                "These pages are for browsers and tests on this machine, at http://127.0.0.1 or http://localhost, and \
                 through no proxy.\nFrom elsewhere: set [basalt.inbox] token in config.toml and add ?token=… to the address.\n"
            }
            Audience::ThisMachine | Audience::ThisMachineAndVisitors => {
                "This page is for browsers on this machine, at http://127.0.0.1 or http://localhost, and through no \
                 proxy.\n"
            }
        }
    }
}

/// From this machine, by a name of this machine, and not on behalf of another site.
fn is_from_here(request: &Request) -> bool {
    let headers = request.headers();
    is_sent_from_here(request)
        && (!headers.contains_key(FETCH_SITE) || matches!(single(headers, &FETCH_SITE), Some("same-origin" | "none")))
}

/// A browser on this machine that opens the page in a tab of its own, whoever sent it here.
fn is_navigation_from_here(request: &Request) -> bool {
    let headers = request.headers();
    is_sent_from_here(request)
        && single(headers, &FETCH_MODE) == Some("navigate")
        && single(headers, &FETCH_DEST) == Some("document")
}

/// At that authority or a name of this machine: in a tab of its own, whoever sent the browser, or what such a page loads.
fn is_for_page_at(request: &Request, authority: &str) -> bool {
    let headers = request.headers();
    let is_ours = |host: &str| is_local(host) || host.eq_ignore_ascii_case(authority);
    host_of(request).is_some_and(is_ours)
        && match (single(headers, &FETCH_SITE), single(headers, &FETCH_MODE), single(headers, &FETCH_DEST)) {
            (Some("same-origin" | "none"), _, _) | (_, Some("navigate"), Some("document")) => true,
            _ => !headers.contains_key(FETCH_SITE),
        }
}

/// From this machine, through no proxy, by a name of this machine, and by no page of another origin.
fn is_sent_from_here(request: &Request) -> bool {
    let headers = request.headers();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let is_loopback = peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback());
    let host = host_of(request);
    is_loopback
        && !is_forwarded(request)
        && host.is_some_and(is_local)
        && (!headers.contains_key(ORIGIN)
            || single(headers, &ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, rest)| rest) == host)
}

/// Whether an intermediary shows itself: by a header, or by HTTP/1.0, which proxies speak to their upstreams (nginx by
/// default) and no browser does.
fn is_forwarded(request: &Request) -> bool {
    let names = |name: &HeaderName| name.as_str().starts_with("x-forwarded") || FORWARDING.contains(&name.as_str());
    request.version() < Version::HTTP_11 || request.headers().keys().any(names)
}

/// The host and port that the request names: its one `Host`, which an absolute-form target must repeat (RFC 9112 §3.2.2).
fn host_of(request: &Request) -> Option<&str> {
    let host = single(request.headers(), &HOST)?;
    let is_repeated = request.uri().authority().is_none_or(|target| target.as_str().eq_ignore_ascii_case(host));
    is_repeated.then_some(host)
}

/// Whether a host, with or without a port, names this machine.
fn is_local(host: &str) -> bool {
    !host.contains('@') && host.parse::<Authority>().is_ok_and(|authority| is_loopback_host(authority.host()))
}

fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn has_token(request: &Request, token: &str) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let by_query = query.split('&').find_map(|part| part.strip_prefix("token="));
    let by_header = single(request.headers(), &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    [by_query, by_header].into_iter().flatten().any(|given| bool::from(given.as_bytes().ct_eq(token.as_bytes())))
}
