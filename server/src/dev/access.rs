//! Who may read the development pages. A page of a foreign site runs on this machine as well, in the developer's browser:
//! so the address of the peer is not enough, the names must be ours too (DNS rebinding).

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request};
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, HeaderName};
use subtle::ConstantTimeEq;

/// What anyone else is told.
pub const REFUSAL: &str = "These pages are for browsers and tests on this machine, at http://127.0.0.1 or http://localhost.\n\
                           From elsewhere: set [basalt.inbox] token in config.toml and add ?token=… to the address.\n";

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Whether this caller may read.
pub fn is_allowed(request: &Request, token: Option<&str>) -> bool {
    is_from_here(request) || token.is_some_and(|token| brings(request, token))
}

/// From this machine, by a name of this machine, and not on behalf of another site.
pub fn is_from_here(request: &Request) -> bool {
    let headers = request.headers();
    is_sent_from_here(request)
        && (!headers.contains_key(FETCH_SITE) || matches!(single(headers, &FETCH_SITE), Some("same-origin" | "none")))
}

/// A browser on this machine that opens the page in a tab of its own, whoever sent it here.
pub fn is_navigation_from_here(request: &Request) -> bool {
    let headers = request.headers();
    is_sent_from_here(request)
        && single(headers, &FETCH_MODE) == Some("navigate")
        && single(headers, &FETCH_DEST) == Some("document")
}

/// For a page without secrets, at that authority or a name of this machine: in a tab of its own, whoever sent the browser,
/// or what such a page loads.
pub fn is_for_page_at(request: &Request, authority: &str) -> bool {
    let headers = request.headers();
    let is_ours = |host: &str| is_local_name(host) || host.eq_ignore_ascii_case(authority);
    single(headers, &HOST).is_some_and(is_ours)
        && match (single(headers, &FETCH_SITE), single(headers, &FETCH_MODE), single(headers, &FETCH_DEST)) {
            (Some("same-origin" | "none"), _, _) | (_, Some("navigate"), Some("document")) => true,
            _ => !headers.contains_key(FETCH_SITE),
        }
}

/// From this machine, by a name of this machine, and by no page of another origin.
fn is_sent_from_here(request: &Request) -> bool {
    let headers = request.headers();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let here = peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback());
    let host = single(headers, &HOST);
    here && !headers.contains_key(FORWARDED)
        && host.is_some_and(is_local_name)
        && (!headers.contains_key(ORIGIN)
            || single(headers, &ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, rest)| rest) == host)
}

fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// `localhost`, with names below it, and the loopback addresses, with or without a port.
fn is_local_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "localhost" | "127.0.0.1" | "[::1]") || name.ends_with(".localhost")
}

fn brings(request: &Request, token: &str) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let by_query = query.split('&').find_map(|part| part.strip_prefix("token="));
    let by_header = single(request.headers(), &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    [by_query, by_header].into_iter().flatten().any(|given| bool::from(given.as_bytes().ct_eq(token.as_bytes())))
}
