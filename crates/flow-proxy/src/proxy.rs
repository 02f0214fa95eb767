//! The recording proxy: passes requests on and hands a copy of what belongs to the API to the recorder.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Limited};
use http_edge::request::remove_connection_headers;
use http_edge::{ClientPresence, HttpLimits, ShutdownSignal};
use hyper::body::Body as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::background::{CaptureRecorder, record_all};
use super::body::{CopiedBody, LimitedBody};
use super::capture::{AUTH_PATH, Api, FLOW_HEADER, FUNCTIONS_PATH, REST_PATH, STORAGE_PATH, is_s3_path};
use super::completion::{Completion, Event};
use super::connections::ServerBody;
use super::error::ProxyError;
use super::headers::forward_headers;
use super::upstream::Upstream;
use super::websocket;

/// The path at which a test names the flow of its next requests.
const CONTROL: &str = "/_record/flow";
/// The most requests that are open or wait for the recorder, which bounds the memory of their bodies.
const MAX_REQUESTS: usize = 64;
const MAX_CONTROL_BODY: usize = 4096;

/// The server behind the proxy.
#[derive(Debug, Clone)]
pub struct ProxyOptions {
    /// The URL of the project.
    pub project: String,
    /// The URL of its auth API.
    pub base: String,
    /// How long the proxy waits.
    pub limits: ProxyLimits,
}

/// How long the proxy waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyLimits {
    /// For the head of a response.
    pub response: Duration,
    /// For the next part of a response.
    pub part: Duration,
    /// For the end of another request if too many are open.
    ///
    /// After it a request is passed on and not recorded.
    pub recorder: Duration,
}

impl Default for ProxyLimits {
    /// Longer than functions of hosted projects may run.
    fn default() -> Self {
        Self { response: Duration::from_mins(10), part: Duration::from_mins(5), recorder: Duration::from_secs(5) }
    }
}

/// The proxy in front of one server.
pub struct FlowProxy {
    options: ProxyOptions,
    upstream: Upstream,
    permits: Arc<Semaphore>,
    events: UnboundedSender<Event>,
    recorder: Thread,
    now: fn() -> f64,
}

impl FlowProxy {
    /// Creates the proxy and starts the thread of its recorder.
    ///
    /// The thread ends with [`Self::serve`] or the proxy, and returns the recorder. `now` is the time in seconds.
    ///
    /// # Errors
    /// The URL of the server is invalid, or the system's root certificates cannot be read.
    pub fn new<R: CaptureRecorder>(
        options: ProxyOptions,
        recorder: R,
        now: fn() -> f64,
    ) -> Result<(Arc<Self>, JoinHandle<R>), ProxyError> {
        let upstream = Upstream::new(&options.project)?;
        let (events, received) = unbounded_channel();
        let thread = std::thread::spawn(move || record_all(recorder, received));
        let permits = Arc::new(Semaphore::new(MAX_REQUESTS));
        let recorder = thread.thread().clone();
        Ok((Arc::new(Self { options, upstream, permits, events, recorder, now }), thread))
    }

    /// Serves until `closing` is true and open requests have ended, or are abandoned.
    pub fn serve(self: Arc<Self>, listener: TcpListener, closing: ShutdownSignal) -> BoxFuture<'static, ()> {
        let limits = HttpLimits { max_connections_per_peer: 0, ..HttpLimits::default() };
        let (events, recorder) = (self.events.clone(), self.recorder.clone());
        let handle = move |request: Request| {
            let proxy = Arc::clone(&self);
            async move { proxy.answer(request).await }
        };
        // Boxed, so that it is compiled once, in this crate.
        let served = async move {
            http_edge::serve(listener, closing, limits, handle).await;
            // Streams that are still open do not keep the recorder.
            let _ = events.send(Event::End);
            recorder.unpark();
        };
        served.boxed()
    }

    async fn answer(&self, mut request: Request) -> Response {
        if request.uri().path() == CONTROL {
            return self.control(request).await;
        }
        let upgrade = websocket::take_upgrade(&mut request);
        let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
        let api = if upgrade.is_some() { None } else { self.find_api(request.method(), &path) };
        let Some(uri) = self.target(&path) else {
            return problem(StatusCode::BAD_REQUEST, "the path of the request is invalid");
        };
        let permit = if api.is_some() { self.acquire_permit().await } else { None };
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let presence = request.extensions().get::<ClientPresence>().cloned();
        let (mut head, body) = request.into_parts();
        let completion = api
            .zip(permit)
            .map(|(api, permit)| Completion::new(&head, api, (peer, (self.now)()), permit, self.events.clone()));
        head.extensions.clear();
        head.version = Version::HTTP_11;
        head.headers.remove(FLOW_HEADER);
        forward_headers(&mut head.headers, self.upstream.host(), peer);
        head.uri = uri;
        if let Some(upgrade) = upgrade {
            websocket::insert_headers(&mut head.headers);
            return self.switch(Request::from_parts(head, body), presence, upgrade).await;
        }
        match completion {
            None => self.send(Request::from_parts(head, body), presence).await,
            Some(completion) => {
                // Bodies are recorded as they pass, so that a compressed one would be recorded as opaque bytes.
                head.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
                let body = if body.is_end_stream() {
                    completion.request.finish();
                    body
                } else {
                    Body::new(CopiedBody::new(body, completion.request.clone(), ()))
                };
                self.send_recorded(Request::from_parts(head, body), presence, completion).await
            }
        }
    }

    /// Returns the permit of a request to be recorded; `None` if too many others are open.
    async fn acquire_permit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Some(permit);
        }
        self.recorder.unpark();
        let permit = timeout(self.options.limits.recorder, Arc::clone(&self.permits).acquire_owned()).await;
        if permit.is_err() {
            tracing::warn!(open = MAX_REQUESTS, "too many requests are open, one is passed on and not recorded");
        }
        permit.ok()?.ok()
    }

    /// Returns the API of a path and the path below it; `None` for what is passed on without a recording.
    fn find_api(&self, method: &Method, path: &str) -> Option<(Api, String)> {
        if *method == Method::OPTIONS {
            return None;
        }
        let below = |mount: &str| path.strip_prefix(mount).filter(|rest| rest.starts_with('/')).map(str::to_owned);
        if let Some(path) = below(REST_PATH) {
            return Some((Api::Rest, path));
        }
        if let Some(path) = below(STORAGE_PATH) {
            return (!is_s3_path(&path)).then_some((Api::Storage, path));
        }
        // Counts of rows and offsets of uploads are asked for with HEAD.
        if *method == Method::HEAD {
            return None;
        }
        if let Some(path) = below(AUTH_PATH) {
            return Some((Api::Auth, path));
        }
        if let Some(path) = below(FUNCTIONS_PATH) {
            return Some((Api::Functions, path));
        }
        (self.options.base == self.options.project).then(|| (Api::Auth, path.to_owned()))
    }

    /// Returns the path at the server. An auth API at the root is reached below `/auth/v1`, too.
    fn target(&self, path: &str) -> Option<Uri> {
        let at_root = self.options.base == self.options.project;
        let path = path.strip_prefix(AUTH_PATH).filter(|rest| at_root && rest.starts_with('/')).unwrap_or(path);
        self.upstream.path(path).map(Uri::from)
    }

    /// Sends a request to the server; without a response the error is the one for the client.
    ///
    /// It ends when the client leaves, as it would without the proxy.
    async fn forward(
        &self,
        request: Request,
        presence: Option<ClientPresence>,
    ) -> Result<http::Response<ServerBody>, Response> {
        let gone = async move {
            match presence {
                Some(presence) => presence.wait_until_gone().await,
                None => std::future::pending().await,
            }
        };
        let limit = self.options.limits.response;
        let (status, message) = tokio::select! {
            sent = timeout(limit, self.upstream.send(request)) => match sent {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(error)) => (StatusCode::BAD_GATEWAY, format!("the recorded server has no response: {error}")),
                Err(_) => (StatusCode::GATEWAY_TIMEOUT, format!("the recorded server has no response after {limit:?}")),
            },
            () = gone => (StatusCode::BAD_GATEWAY, "the client has closed its connection".to_owned()),
        };
        Err(problem(status, &message))
    }

    async fn send(&self, request: Request, presence: Option<ClientPresence>) -> Response {
        match self.forward(request, presence).await {
            Ok(response) => self.pass_on(response),
            Err(response) => response,
        }
    }

    /// Returns a response of the server for the client, without a recording.
    fn pass_on(&self, response: http::Response<ServerBody>) -> Response {
        let mut response = response.map(|body| Body::new(LimitedBody::new(body, self.options.limits.part)));
        remove_connection_headers(response.headers_mut());
        response
    }

    async fn send_recorded(
        &self,
        request: Request,
        presence: Option<ClientPresence>,
        mut completion: Completion,
    ) -> Response {
        match self.forward(request, presence).await {
            Ok(response) => {
                let (mut head, body) = response.into_parts();
                if let Some(exchange) = &mut completion.exchange {
                    exchange.status = head.status.as_u16();
                    exchange.response_headers = head.headers.clone();
                }
                remove_connection_headers(&mut head.headers);
                if body.is_end_stream() {
                    completion.response.finish();
                    return Response::from_parts(head, Body::empty());
                }
                let copy = completion.response.clone();
                let body = LimitedBody::new(body, self.options.limits.part);
                Response::from_parts(head, Body::new(CopiedBody::new(body, copy, completion)))
            }
            Err(response) => {
                completion.exchange = None;
                response
            }
        }
    }

    async fn switch(
        &self,
        request: Request,
        presence: Option<ClientPresence>,
        upgrade: http_edge::PendingUpgrade,
    ) -> Response {
        match self.forward(request, presence).await {
            Ok(mut response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                websocket::spawn_relay(upgrade, hyper::upgrade::on(&mut response));
                let mut response = response.map(|_| Body::empty());
                remove_connection_headers(response.headers_mut());
                websocket::insert_headers(response.headers_mut());
                response
            }
            Ok(response) => self.pass_on(response),
            Err(response) => response,
        }
    }

    /// Answers `POST /_record/flow {"name": …}`.
    async fn control(&self, request: Request) -> Response {
        let is_post = *request.method() == Method::POST;
        let body = Limited::new(request.into_body(), MAX_CONTROL_BODY).collect().await;
        let body: Value = body.ok().and_then(|body| serde_json::from_slice(&body.to_bytes()).ok()).unwrap_or_default();
        match body["name"].as_str().filter(|name| is_post && !name.is_empty()) {
            Some(name) => {
                let _ = self.events.send(Event::Name(name.to_owned()));
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
            None => problem(StatusCode::BAD_REQUEST, "send POST /_record/flow with {\"name\": …}"),
        }
    }
}

fn problem(status: StatusCode, message: &str) -> Response {
    let mut response = Response::new(Body::from(json!({ "message": message }).to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
