//! The one door of `basalt serve`: by the raw path a request goes to the auth API, the functions, the development pages or
//! the shop. Nothing is decoded or cleaned here, so that no two readers of a path can disagree.

mod cors;
mod refusal;

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use functions_rs::TrustedProxies;
use futures::FutureExt;
use http::header::{HOST, ORIGIN};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use tower::ServiceExt;

use crate::api_keys::{Credentials, Gateway};
use crate::assets::Shop;
use crate::dev::Dev;
use crate::metrics;

/// The id of a request: taken from the caller where it is harmless, else made; told to the auth API and to the caller.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is taken from a caller.
const LONGEST_ID: usize = 64;

/// Headers in which a proxy says what it saw. From anybody else they are hearsay and dropped.
const HEARSAY: [&str; 5] =
    ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "sb-forwarded-for", "forwarded"];

/// Below `/auth/v1`: open to callers without a key, with or without a slash at the end.
const OPEN: [&str; 8] = [
    "/verify",
    "/callback",
    "/authorize",
    "/health",
    "/oauth/authorize",
    "/oauth/token",
    "/oauth/userinfo",
    "/oauth/clients/register",
];
/// The same, for everything below.
const OPEN_BELOW: [&str; 2] = ["/.well-known/", "/sso/saml/"];

/// Served at the root too, where clients of the OAuth server look for it.
const OAUTH_METADATA: &str = "/.well-known/oauth-authorization-server";

/// Services of Supabase that we are not.
const NOT_SERVED: [(&str, &str); 6] = [
    ("/rest/v1", "the data API"),
    ("/graphql/v1", "GraphQL"),
    ("/storage/v1", "file storage"),
    ("/realtime/v1", "realtime"),
    ("/pg", "the database's administration API"),
    ("/analytics/v1", "log analytics"),
];

/// Everything behind the door.
pub struct Front {
    /// The auth API, at its root.
    pub auth: Router,
    /// The functions, with their full paths.
    pub functions: Router,
    /// The shop.
    pub shop: Shop,
    /// The development pages.
    pub dev: Dev,
    /// API keys.
    pub gateway: Gateway,
    /// Whose `X-Forwarded-For` is believed.
    pub proxies: TrustedProxies,
    /// Makes request ids.
    pub entropy: gotrue_rs::ports::entropy::Entropy,
}

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Area {
    Auth,
    OAuthMetadata,
    Functions,
    Dev,
    NotServed(&'static str, &'static str),
    Shop,
}

impl Area {
    fn of(path: &str) -> Self {
        let below = |mount: &str| path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if below("/auth/v1") {
            return Self::Auth;
        }
        if below("/functions/v1") {
            return Self::Functions;
        }
        if below("/_dev") {
            return Self::Dev;
        }
        if path == OAUTH_METADATA {
            return Self::OAuthMetadata;
        }
        let foreign = NOT_SERVED.iter().find(|(mount, _)| below(mount));
        foreign.map_or(Self::Shop, |(mount, what)| Self::NotServed(mount, what))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Auth | Self::OAuthMetadata => "auth",
            Self::Functions => "functions",
            Self::Dev => "dev",
            Self::NotServed(..) => "not_served",
            Self::Shop => "shop",
        }
    }
}

impl Front {
    /// Answers one request. A panic is a 500 and ends nothing else.
    pub async fn answer(self: Arc<Self>, mut request: Request) -> Response {
        let started = Instant::now();
        let area = Area::of(request.uri().path());
        let id = self.request_id(request.headers());
        request.headers_mut().insert(REQUEST_ID, id.clone());
        // The development pages judge the request as it came: what a proxy wrote shows that there is one.
        if area != Area::Dev {
            self.drop_hearsay(&mut request);
        }
        let request_line = (request.method().clone(), request.uri().path().to_owned());
        let handled = AssertUnwindSafe(self.dispatch(area, request)).catch_unwind().await;
        let mut response = handled.unwrap_or_else(|_| {
            tracing::error!(request.id = ?id, area = area.name(), "a handler panicked");
            refusal::failed()
        });
        response.headers_mut().insert(REQUEST_ID, id);
        metrics::answered(area.name(), response.status(), started.elapsed());
        log(area, &request_line, &response, started);
        response
    }

    async fn dispatch(&self, area: Area, request: Request) -> Response {
        match area {
            Area::Auth => self.auth(request).await,
            Area::OAuthMetadata => cors::allowed(forward(&self.auth, request).await),
            Area::Functions => forward(&self.functions, request).await,
            Area::Dev => self.dev.answer(request).await,
            Area::NotServed(mount, what) => {
                if cors::is_preflight(request.method(), request.headers()) {
                    return cors::preflight(request.headers());
                }
                cors::allowed(refusal::not_served(mount, what))
            }
            Area::Shop => self.shop.answer(request.method(), request.uri().path(), request.headers()),
        }
    }

    /// CORS is answered here, so that refusals of the gateway carry it too; the auth API behind sees no origin.
    async fn auth(&self, mut request: Request) -> Response {
        if cors::is_preflight(request.method(), request.headers()) {
            return cors::preflight(request.headers());
        }
        request.headers_mut().remove(ORIGIN);
        let uri = without_mount(request.uri(), "/auth/v1");
        let found = self.gateway.admit(&uri, request.headers_mut());
        let open = is_open(uri.path());
        *request.uri_mut() = uri;
        let response = match found {
            Credentials::Key(_) | Credentials::Token => forward(&self.auth, request).await,
            _ if open => forward(&self.auth, request).await,
            Credentials::Missing => refusal::no_key(),
            Credentials::Wrong => refusal::wrong_key(),
        };
        cors::allowed(response)
    }

    fn request_id(&self, headers: &HeaderMap) -> HeaderValue {
        let harmless = |value: &&HeaderValue| {
            let bytes = value.as_bytes();
            (1..=LONGEST_ID).contains(&bytes.len())
                && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
        };
        headers.get(REQUEST_ID).filter(harmless).cloned().unwrap_or_else(|| {
            HeaderValue::try_from(self.entropy.uuid().to_string()).unwrap_or_else(|_| HeaderValue::from_static("-"))
        })
    }

    /// From a trusted proxy only the caller's address is kept, as one entry; from anyone else nothing.
    fn drop_hearsay(&self, request: &mut Request) {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let caller = peer.map(|peer| self.proxies.peer(peer, request.headers()).address());
        let headers = request.headers_mut();
        for name in HEARSAY {
            headers.remove(name);
        }
        if let (Some(peer), Some(caller)) = (peer, caller)
            && peer.to_canonical() != caller
            && let Ok(value) = HeaderValue::try_from(caller.to_string())
        {
            headers.insert("x-forwarded-for", value);
        }
        // Of two hosts a reader could take either.
        if headers.get_all(HOST).iter().count() > 1 {
            headers.remove(HOST);
        }
    }
}

/// The access log of what logs nothing itself. A query may carry secrets and is left out.
fn log(area: Area, (method, path): &(Method, String), response: &Response, started: Instant) {
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (area, status) = (area.name(), response.status().as_u16());
    let id = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
    match area {
        "auth" => {}
        "functions" => tracing::info!(request.id = id, area, %method, path, status, duration_ms, "request answered"),
        _ => tracing::debug!(request.id = id, area, %method, path, status, duration_ms, "request answered"),
    }
}

/// Whether the path below the mount is open. A path that could be read in two ways is not.
fn is_open(path: &str) -> bool {
    if path.contains('%') || path.contains("..") || path.contains("//") {
        return false;
    }
    OPEN.contains(&path.strip_suffix('/').unwrap_or(path)) || OPEN_BELOW.iter().any(|mount| path.starts_with(mount))
}

/// The same target without the mount, and without a host, which only a proxy's request has.
fn without_mount(uri: &Uri, mount: &str) -> Uri {
    let path = uri.path().strip_prefix(mount).filter(|rest| !rest.is_empty()).unwrap_or("/");
    let target = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    PathAndQuery::try_from(target).map(Uri::from).unwrap_or_default()
}

async fn forward(router: &Router, request: Request) -> Response {
    match router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The status for a metric's label.
pub fn class_of(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests;
