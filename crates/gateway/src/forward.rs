//! Forwards one request: target, headers, limits, and what becomes of the response.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header::{HOST, HeaderName, HeaderValue};
use http::{Method, StatusCode, Version, request};
use http_edge::request::{ClientAddress, ResolvedRequest};
use http_edge::{ClientPresence, isolate_foreign_content};
use hyper::body::{Body as _, Incoming};
use telemetry::log_limit::LogLimit;
use tokio::time::{Instant, sleep_until};

use crate::body::{RequestBody, ResponseBody, UploadProgress};
use crate::client::{self, ClientError, HttpClient};
use crate::errors::ForwardError;
use crate::headers::{self, ForwardedFacts};
use crate::limits::GatewayLimits;
use crate::origin::PublicOrigin;
use crate::permits::{Permits, RequestPermit};
use crate::route::Route;
use crate::service::Service;
use crate::upstream::{UpstreamUrl, Upstreams};
use crate::{credentials, websocket};

const CONTENT_PROFILE: HeaderName = HeaderName::from_static("content-profile");
/// The schema in which PostgREST finds the function `graphql`.
const GRAPHQL_SCHEMA: HeaderValue = HeaderValue::from_static("graphql_public");

/// Lines about requests that were not forwarded, by service and reason.
static NOT_FORWARDED: LogLimit = LogLimit::new();
/// Lines about requests that failed at a service, by service.
static FAILED: LogLimit = LogLimit::new();

/// Forwards requests to the configured services.
#[derive(Debug, Clone)]
pub struct Gateway {
    upstreams: Upstreams,
    origin: PublicOrigin,
    limits: GatewayLimits,
    client: HttpClient,
    permits: Permits,
}

/// A request that is ready to be sent.
struct Prepared {
    head: request::Parts,
    body: Body,
    presence: Option<ClientPresence>,
}

/// The response of a service, before it is passed on.
type UpstreamResponse = http::Response<Incoming>;

impl Gateway {
    /// Creates the gateway; `origin` is the address of this server for clients.
    ///
    /// # Errors
    /// A service has an `https` address and the system's root certificates cannot be read.
    pub fn new(upstreams: Upstreams, limits: GatewayLimits, origin: PublicOrigin) -> io::Result<Self> {
        let client = client::build(&limits, upstreams.has_https())?;
        let permits = Permits::new(&limits, upstreams.count() > 1);
        Ok(Self { upstreams, origin, limits, client, permits })
    }

    /// Returns whether a service has an address.
    pub fn has(&self, service: Service) -> bool {
        self.upstreams.get(service).is_some()
    }

    /// Finds the route of a raw path, if its service is configured.
    pub fn find_route(&self, path: &str) -> Option<Route> {
        let route = Route::find(path);
        self.has(route.service).then_some(route)
    }

    /// Forwards a request and returns the response, whose body is streamed.
    ///
    /// The request has passed the check that its route's access names. `role_token` is the token of its API key's role.
    /// The extensions [`ResolvedRequest`] and [`ClientPresence`] are used if it has them.
    pub async fn forward(&self, request: Request, route: Route, role_token: Option<&str>) -> Response {
        match self.try_forward(request, route, role_token).await {
            Ok(mut response) => {
                if route.service.has_foreign_content() {
                    isolate_foreign_content(response.headers_mut());
                }
                response
            }
            Err(error) => {
                log_error(route.service.name(), error);
                error.to_response(route.service)
            }
        }
    }

    async fn try_forward(
        &self,
        mut request: Request,
        route: Route,
        role_token: Option<&str>,
    ) -> Result<Response, ForwardError> {
        let upstream = self.upstreams.get(route.service).ok_or(ForwardError::Unreachable)?;
        if headers::is_loop(request.headers()) {
            return Err(ForwardError::Loop);
        }
        if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
            return Err(ForwardError::InvalidMethod);
        }
        let client = request.extensions().get::<ResolvedRequest>().and_then(|resolved| resolved.client);
        let permit = self.permits.acquire(route.service, client).ok_or(ForwardError::TooMany)?;
        let upgrade = websocket::take_upgrade(&mut request);
        let mut prepared = self.prepare(request, route, upstream, role_token)?;
        match upgrade {
            None => {
                let response = self.send(prepared, route.service).await?;
                Ok(pass_on(response, permit))
            }
            Some(upgrade) => {
                websocket::insert_request_headers(&mut prepared.head.headers);
                let response = self.send(prepared, route.service).await?;
                Ok(self.switch(response, upgrade, permit))
            }
        }
    }

    /// Connects client and service if the service accepts the WebSocket.
    fn switch(
        &self,
        mut response: UpstreamResponse,
        upgrade: websocket::ClientUpgrade,
        permit: RequestPermit,
    ) -> Response {
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return pass_on(response, permit);
        }
        let upstream = hyper::upgrade::on(&mut response);
        websocket::spawn_relay(upgrade, upstream, self.limits.websocket_idle_timeout, permit);
        let mut response = response.map(|_| Body::empty());
        headers::remove_connection_headers(response.headers_mut());
        websocket::insert_response_headers(response.headers_mut());
        response
    }

    /// Builds the request for the service.
    fn prepare(
        &self,
        mut request: Request,
        route: Route,
        upstream: &UpstreamUrl,
        role_token: Option<&str>,
    ) -> Result<Prepared, ForwardError> {
        let presence = request.extensions_mut().remove::<ClientPresence>();
        let resolved = request.extensions_mut().remove::<ResolvedRequest>();
        let client: Option<IpAddr> = resolved.and_then(|resolved| resolved.client).map(ClientAddress::address);
        let (mut head, body) = request.into_parts();
        head.extensions = http::Extensions::new();
        head.version = Version::HTTP_11;
        headers::remove_connection_headers(&mut head.headers);
        let facts = ForwardedFacts { client, origin: &self.origin, uri: &head.uri, mount: route.mount };
        headers::replace_forwarded_headers(&mut head.headers, &facts);
        headers::remove_invalid_trace_context(&mut head.headers);
        let query = credentials::translate(route.service, &mut head.headers, head.uri.query(), role_token);
        let mut target = route.target_path(head.uri.path()).into_owned();
        if let Some(query) = query.filter(|query| !query.is_empty()) {
            target.push('?');
            target.push_str(&query);
        }
        if route.service == Service::GraphQl {
            head.headers.insert(CONTENT_PROFILE, GRAPHQL_SCHEMA);
        }
        head.uri = upstream.join(&target).ok_or(ForwardError::InvalidPath)?;
        let host = HeaderValue::try_from(upstream.authority()).map_err(|_| ForwardError::InvalidPath)?;
        head.headers.insert(HOST, host);
        Ok(Prepared { head, body, presence })
    }

    /// Sends the request until its response begins, the client disconnects, or time is up.
    async fn send(&self, prepared: Prepared, service: Service) -> Result<UpstreamResponse, ForwardError> {
        let Prepared { head, body, presence } = prepared;
        let limit = match service {
            Service::Functions => self.limits.function_timeout,
            _ => self.limits.response_timeout,
        };
        let gone = async {
            match presence {
                Some(presence) => presence.wait_until_gone().await,
                None => std::future::pending().await,
            }
        };
        let progress = Arc::<UploadProgress>::default();
        tokio::select! {
            biased;
            sent = self.send_with_retry(head, body, &progress) => sent.map_err(|error| describe(&error, service, &progress)),
            () = gone => Err(ForwardError::Disconnected),
            () = wait_for_timeout(limit, &progress) => Err(ForwardError::Timeout(limit)),
            () = progress.wait_until_too_slow(Instant::now()) => Err(ForwardError::SlowRequest),
        }
    }

    /// Sends the request; once more if a pooled connection ended and the request can be repeated.
    async fn send_with_retry(
        &self,
        head: request::Parts,
        body: Body,
        progress: &Arc<UploadProgress>,
    ) -> Result<UpstreamResponse, ClientError> {
        let is_repeatable = matches!(head.method, Method::GET | Method::HEAD) && body.is_end_stream();
        let again = is_repeatable.then(|| head.clone());
        let first = RequestBody::new(body, Arc::clone(progress));
        let error = match self.client.request(Request::from_parts(head, first)).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        match again {
            Some(head) if !error.is_connect() => {
                let empty = RequestBody::new(Body::empty(), Arc::clone(progress));
                self.client.request(Request::from_parts(head, empty)).await
            }
            _ => Err(error),
        }
    }
}

/// Logs why a request was not forwarded; a client can cause each reason with every request.
fn log_error(service: &'static str, error: ForwardError) {
    match error {
        // Logged with their cause.
        ForwardError::Unreachable | ForwardError::InvalidResponse => {}
        ForwardError::Disconnected | ForwardError::IncompleteRequest | ForwardError::SlowRequest => {
            tracing::debug!(service, "client disconnected, request to the service ended");
        }
        ForwardError::InvalidMethod | ForwardError::InvalidPath => {
            tracing::debug!(service, ?error, "request not forwarded");
        }
        ForwardError::Timeout(_) | ForwardError::TooMany | ForwardError::Loop => {
            if let Some(left_out) = NOT_FORWARDED.admit(&format!("{service} {error:?}")) {
                tracing::warn!(service, ?error, left_out, "request not forwarded");
            } else {
                tracing::debug!(service, ?error, "request not forwarded");
            }
        }
    }
}

/// Logs the cause of a failed request, and returns what the client learns of it.
fn describe(error: &ClientError, service: Service, progress: &UploadProgress) -> ForwardError {
    if progress.has_failed() {
        return ForwardError::IncompleteRequest;
    }
    let mut cause = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        cause.push_str(": ");
        cause.push_str(&inner.to_string());
        next = inner.source();
    }
    let service = service.name();
    if let Some(left_out) = FAILED.admit(service) {
        tracing::warn!(service, cause, left_out, "request to a service failed");
    } else {
        tracing::debug!(service, cause, "request to a service failed");
    }
    if error.is_connect() { ForwardError::Unreachable } else { ForwardError::InvalidResponse }
}

/// Waits until no part of the request was sent for the time limit.
async fn wait_for_timeout(limit: Duration, progress: &UploadProgress) {
    loop {
        let before = progress.frames();
        sleep_until(Instant::now() + limit).await;
        if progress.frames() == before {
            return;
        }
    }
}

/// Returns the response of a service without the headers of its connection.
fn pass_on(response: UpstreamResponse, permit: RequestPermit) -> Response {
    let mut response = response.map(|body| ResponseBody::wrap(body, permit));
    headers::remove_connection_headers(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    response
}
