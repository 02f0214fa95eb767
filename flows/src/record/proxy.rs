//! The recording proxy: passes requests on and hands a copy of what belongs to the API to the recorder.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use gotrue_rs::ports::clock::{Clock, SystemClock};
use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, Method, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Limited};
use http_edge::request::forwarded::{X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PROTO};
use http_edge::{HttpLimits, ShutdownSignal};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body::{BodyCopy, CopiedBody};
use super::exchange::Exchange;
use super::separate::Recorder;
use super::websocket;
use crate::FlowError;
use crate::format::Service;

/// The path of the auth API in projects.
const MOUNT: &str = "/auth/v1";
/// The path of the functions.
const FUNCTIONS: &str = "/functions/v1";
/// The path at which a test names the flow of its next requests.
const CONTROL: &str = "/_record/flow";
/// The most requests that are open or wait for the recorder, which bounds the memory of their bodies.
const MAX_REQUESTS: usize = 64;
const MAX_CONTROL_BODY: usize = 4096;
/// The headers that concern one connection (RFC 9110 §7.6.1).
const CONNECTION_HEADERS: [HeaderName; 6] =
    [CONNECTION, HeaderName::from_static("keep-alive"), TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

type HttpClient = Client<HttpsConnector<HttpConnector>, Body>;

/// The server behind the proxy.
#[derive(Debug, Clone)]
pub struct ProxyOptions {
    /// The URL of the project.
    pub project: String,
    /// The URL of its auth API.
    pub base: String,
}

/// What the recorder's thread gets.
enum Event {
    Exchange(Box<Exchange>, OwnedSemaphorePermit),
    Name(String),
}

/// Sends the exchange when the last part of the response has passed.
struct Completion {
    exchange: Option<Box<Exchange>>,
    request: BodyCopy,
    response: BodyCopy,
    permit: Option<OwnedSemaphorePermit>,
    events: UnboundedSender<Event>,
}

impl Drop for Completion {
    fn drop(&mut self) {
        if let (Some(mut exchange), Some(permit)) = (self.exchange.take(), self.permit.take()) {
            exchange.body = self.request.take();
            exchange.response_body = self.response.take();
            let _ = self.events.send(Event::Exchange(exchange, permit));
        }
    }
}

/// The proxy in front of one server.
pub struct RecordingProxy {
    options: ProxyOptions,
    client: HttpClient,
    permits: Arc<Semaphore>,
    events: UnboundedSender<Event>,
}

impl RecordingProxy {
    /// Creates the proxy and starts the thread of its recorder.
    ///
    /// The thread ends with the proxy and returns the recorder.
    ///
    /// # Errors
    /// The system's root certificates cannot be read.
    pub fn new(options: ProxyOptions, mut recorder: Recorder) -> Result<(Arc<Self>, JoinHandle<Recorder>), FlowError> {
        let failed =
            |error: String| FlowError::new(format!("no HTTPS client: {error}"), "check the system's certificates");
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        let tls = if options.project.starts_with("https:") {
            ClientConfig::with_platform_verifier().map_err(|error| failed(error.to_string()))?
        } else {
            ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        };
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let client =
            Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector.wrap_connector(http));
        let (events, mut received) = unbounded_channel();
        let thread = std::thread::spawn(move || {
            while let Some(event) = received.blocking_recv() {
                match event {
                    Event::Exchange(exchange, permit) => {
                        if let Err(error) = recorder.record(&exchange) {
                            tracing::error!(%error, "a request is not recorded");
                        }
                        drop(permit);
                    }
                    Event::Name(name) => recorder.set_name(&name),
                }
            }
            recorder
        });
        Ok((Arc::new(Self { options, client, permits: Arc::new(Semaphore::new(MAX_REQUESTS)), events }), thread))
    }

    /// Serves until `closing` is true and open requests have ended.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, closing: ShutdownSignal) {
        let limits = HttpLimits { max_connections_per_peer: 0, ..HttpLimits::default() };
        let handle = move |request: Request| {
            let proxy = Arc::clone(&self);
            async move { proxy.answer(request).await }
        };
        http_edge::serve(listener, closing, limits, handle).await;
    }

    async fn answer(&self, mut request: Request) -> Response {
        if request.uri().path() == CONTROL {
            return self.control(request).await;
        }
        let upgrade = websocket::take_upgrade(&mut request);
        let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned();
        let api = if upgrade.is_some() { None } else { self.find_api(request.method(), &path) };
        let Some(uri) = self.target(&path) else {
            return problem(StatusCode::BAD_REQUEST, "the path of the request is invalid");
        };
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let (mut head, body) = request.into_parts();
        let completion =
            api.map(|(service, path)| Completion::new(&head, (service, path), (peer, permit), self.events.clone()));
        head.extensions.clear();
        head.version = Version::HTTP_11;
        forward_headers(&mut head.headers, &uri, peer);
        head.uri = uri;
        if let Some(upgrade) = upgrade {
            websocket::insert_headers(&mut head.headers);
            return self.switch(Request::from_parts(head, body), upgrade).await;
        }
        match completion {
            None => self.send(Request::from_parts(head, body)).await,
            Some(completion) => {
                head.headers.remove(super::separate::FLOW_HEADER);
                let body = if hyper::body::Body::is_end_stream(&body) {
                    body
                } else {
                    Body::new(CopiedBody::new(body, completion.request.clone(), ()))
                };
                self.send_recorded(Request::from_parts(head, body), completion).await
            }
        }
    }

    /// Returns the API of a path and the path below it; `None` for what is passed on without a recording.
    fn find_api(&self, method: &Method, path: &str) -> Option<(Service, String)> {
        if matches!(*method, Method::OPTIONS | Method::HEAD) {
            return None;
        }
        let below = |mount: &str| path.strip_prefix(mount).filter(|rest| rest.starts_with('/')).map(str::to_owned);
        if let Some(path) = below(MOUNT) {
            return Some((Service::Auth, path));
        }
        if let Some(path) = below(FUNCTIONS) {
            return Some((Service::Functions, path));
        }
        (self.options.base == self.options.project).then(|| (Service::Auth, path.to_owned()))
    }

    /// Returns the URL at the server. An auth API at the root is reached below `/auth/v1`, too.
    fn target(&self, path: &str) -> Option<Uri> {
        let at_root = self.options.base == self.options.project;
        let path = path.strip_prefix(MOUNT).filter(|rest| at_root && rest.starts_with('/')).unwrap_or(path);
        format!("{}{path}", self.options.project).parse().ok()
    }

    async fn send(&self, request: Request) -> Response {
        match self.client.request(request).await {
            Ok(response) => {
                let mut response = response.map(Body::new);
                remove_connection_headers(response.headers_mut());
                response
            }
            Err(error) => problem(StatusCode::BAD_GATEWAY, &format!("the recorded server has no response: {error}")),
        }
    }

    async fn send_recorded(&self, request: Request, mut completion: Completion) -> Response {
        match self.client.request(request).await {
            Ok(response) => {
                let (mut head, body) = response.into_parts();
                if let Some(exchange) = &mut completion.exchange {
                    exchange.status = head.status.as_u16();
                    exchange.response_headers = head.headers.clone();
                }
                remove_connection_headers(&mut head.headers);
                if hyper::body::Body::is_end_stream(&body) {
                    drop(completion);
                    return Response::from_parts(head, Body::empty());
                }
                let copy = completion.response.clone();
                Response::from_parts(head, Body::new(CopiedBody::new(body, copy, completion)))
            }
            Err(error) => {
                completion.exchange = None;
                problem(StatusCode::BAD_GATEWAY, &format!("the recorded server has no response: {error}"))
            }
        }
    }

    async fn switch(&self, request: Request, upgrade: http_edge::PendingUpgrade) -> Response {
        match self.client.request(request).await {
            Ok(mut response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                websocket::spawn_relay(upgrade, hyper::upgrade::on(&mut response));
                let mut response = response.map(|_| Body::empty());
                remove_connection_headers(response.headers_mut());
                websocket::insert_headers(response.headers_mut());
                response
            }
            Ok(response) => response.map(Body::new),
            Err(error) => problem(StatusCode::BAD_GATEWAY, &format!("the recorded server has no response: {error}")),
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

impl Completion {
    fn new(
        head: &http::request::Parts,
        (service, path): (Service, String),
        (peer, permit): (Option<IpAddr>, Option<OwnedSemaphorePermit>),
        events: UnboundedSender<Event>,
    ) -> Self {
        let agent = head.headers.get("user-agent").and_then(|value| value.to_str().ok()).unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "milliseconds are below 2^52")]
        let at = SystemClock.now().timestamp_millis() as f64 / 1000.0;
        let exchange = Exchange {
            method: head.method.to_string(),
            path,
            service,
            headers: head.headers.clone(),
            at,
            client: format!("{peer:?} {agent}"),
            ..Exchange::default()
        };
        let (request, response) = (BodyCopy::default(), BodyCopy::default());
        Self { exchange: Some(Box::new(exchange)), request, response, permit, events }
    }
}

/// Replaces the headers of the connection, and adds what the server should know about the client.
fn forward_headers(headers: &mut HeaderMap, target: &Uri, peer: Option<IpAddr>) {
    remove_connection_headers(headers);
    let host = headers.remove(HOST);
    for (name, value) in [(X_FORWARDED_HOST, host), (X_FORWARDED_PROTO, Some(HeaderValue::from_static("http")))] {
        if let (false, Some(value)) = (headers.contains_key(&name), value) {
            headers.insert(name, value);
        }
    }
    if let Some(peer) = peer {
        let earlier = headers.get(X_FORWARDED_FOR).and_then(|value| value.to_str().ok());
        let chain = earlier.map_or_else(|| peer.to_string(), |earlier| format!("{earlier}, {peer}"));
        if let Ok(chain) = HeaderValue::try_from(chain) {
            headers.insert(X_FORWARDED_FOR, chain);
        }
    }
    if let Some(host) = target.authority().and_then(|host| HeaderValue::try_from(host.as_str()).ok()) {
        headers.insert(HOST, host);
    }
}

fn remove_connection_headers(headers: &mut HeaderMap) {
    for name in &CONNECTION_HEADERS {
        headers.remove(name);
    }
}

fn problem(status: StatusCode, message: &str) -> Response {
    let mut response = Response::new(Body::from(json!({ "message": message }).to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
