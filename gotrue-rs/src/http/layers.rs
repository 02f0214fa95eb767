//! The layers around every request, outermost first: CORS, id, span, panics, access log, deadline.
//!
//! Form bodies are consumed before the handler runs, as in GoTrue.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use foundation::error::{Error, ErrorCode, Result};
use foundation::error_chain::ErrorChain;
use foundation::percent_escapes::has_valid_escapes;
use foundation::time::Time;
use futures::FutureExt;
use futures::future::{Either, select};
use gotrue_rules::domain::explanation::redirect::explain_target;
use gotrue_rules::wire::error::{ApiVersion, VERSION_HEADER};
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use http_edge::ClientPresence;
use http_edge::request::{RequestId, RequestIdSource, RequestedUri, ResolvedRequest, cors, requested_path};
use platform::explanation::{
    EXPLAIN_HEADER, EdgeRefusal, ExplainedRequest, RefusedResponse, explain_preflight, insert_link,
};
use platform::journal::{Journal, RedirectedError};
use platform::request_body::{MAX_BODY_BYTES, MAX_EARLY_FORM_BYTES, RequestBody};
use platform::request_info::{KnownDevice, RequestInfo, parse_pairs};
use telemetry::log_limit::LogLimit;
use telemetry::trace_context;
use telemetry::tracer::RequestTrace;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::reply::Reply;
use super::request_labels::RequestLabels;
use super::response_time::SteppedResponse;
use super::router;
use crate::app::App;
use crate::request_context::{RequestContext, ResponseHeaders};

/// Answers one request from the route table.
pub async fn serve(app: Arc<App>, table: Arc<router::RouteTable>, request: Request) -> Response {
    if !has_valid_escapes(request.uri().path()) {
        return invalid_path_response();
    }
    if cors::AUTH_API.is_preflight(request.method(), request.headers()) {
        return answer_preflight(&app, &request);
    }
    let is_readable = cors::AUTH_API.is_readable_by_scripts(request.method(), request.headers());
    let version = ApiVersion::from_header(request.headers().get(VERSION_HEADER).and_then(|value| value.to_str().ok()));
    let id = request_id(&app, &request);
    let trace = RequestTrace::start(request.headers());
    let span = request_span(request.method(), &id, &trace);
    let meta = RequestMeta { id: &id, span: &span, response_headers: &Arc::default(), sender: &OnceLock::new() };
    let responding = pin!(respond(&app, &table, request, version, meta).instrument(span.clone()));
    let mut response = match trace.context {
        Some(context) => trace_context::run_in(Arc::new(context), responding).await,
        None => responding.await,
    };
    cors::AUTH_API.insert_headers(response.headers_mut(), is_readable);
    response
}

/// Answers a path with an invalid escape as Go's HTTP server does, which refuses it before any handler.
fn invalid_path_response() -> Response {
    let mut response = Response::new(Body::from("400 Bad Request"));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Answers a CORS preflight, and explains what of it is not allowed.
fn answer_preflight(app: &App, request: &Request) -> Response {
    let more_headers = &app.policy.api.cors_allowed_headers;
    let mut response = cors::AUTH_API.preflight_response(request.headers(), more_headers);
    if let Some(refusal) = cors::AUTH_API.find_refusal(request.headers(), more_headers) {
        let decision = explain_preflight(&refusal, Some("GOTRUE_CORS_ALLOWED_HEADERS"));
        let refused = EdgeRefusal {
            id: "",
            method: request.method().as_str(),
            path: requested_path(request),
            status: response.status().as_u16(),
            code: None,
            message: "The browser refuses the request of the page.",
            now: app.clock.now(),
        };
        insert_link(response.headers_mut(), app.explanations.explain_decision(&refused, decision));
    }
    response
}

/// Runs the request inside CORS. A panic becomes a 500 response.
async fn respond(
    app: &Arc<App>,
    table: &router::RouteTable,
    request: Request,
    version: ApiVersion,
    meta: RequestMeta<'_>,
) -> Response {
    let started = app.clock.now();
    let RequestMeta { id, span, response_headers, sender } = meta;
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let requested = request.extensions().get::<RequestedUri>().cloned();
    let stepped = SteppedResponse::start(&app.policy, &path);
    let handled = AssertUnwindSafe(run_with_deadline(app, table, request, meta)).catch_unwind().await;
    if let Some(stepped) = stepped {
        stepped.wait().await;
    }
    let result = handled.unwrap_or_else(|_| Err(panic_error()));
    let (reply, refused) = match result {
        Ok(reply) => (reply, None),
        Err(error) => {
            span.record("error.code", error.code().as_str());
            log_error(&error, id);
            (Reply::from_error(&error, version, id), Some(RedirectedError::new(&error)))
        }
    };
    if reply.status().is_success() && is_write_method(&method) {
        app.cleanup_signal.notify();
    }
    let reply = response_headers.apply_to(reply);
    span.record("http.response.status_code", reply.status().as_u16());
    let finished_at = app.clock.now();
    let access = AccessLogEntry { method, path, requested, id };
    let times = RequestTimes { started, finished_at };
    let reply = match sender.get() {
        Some(sender) => {
            let answered = AnsweredRequest { access: &access, times, sender, refused: refused.as_ref() };
            explain(app, &answered, reply)
        }
        None => reply,
    };
    log_access(&access, &reply, (finished_at - started).num_milliseconds());
    let mut response = reply.into_response();
    RequestLabels::insert(&mut response, sender.get().map(|sender| &*sender.journal), refused.as_ref());
    response
}

async fn run_with_deadline(
    app: &Arc<App>,
    table: &router::RouteTable,
    request: Request,
    meta: RequestMeta<'_>,
) -> Result<Reply> {
    let limit = app.policy.api.max_request_duration;
    let deadline = if limit.is_zero() { None } else { Instant::now().checked_add(limit) };
    let client = request.extensions().get::<ClientPresence>().cloned();
    let work = std::pin::pin!(async {
        let mut cx = build_context(app, request, meta.id).await;
        cx.limit_hashing(deadline, client);
        let journal = Arc::clone(&cx.journal);
        let _ = meta.sender.set(RequestSender::new(&cx));
        cx.request.validate()?;
        record_redirect(&cx);
        cx.response_headers = meta.response_headers.clone();
        cx.span = meta.span.clone();
        let result = router::dispatch(table, cx).await;
        result.map_err(|error| if journal.has_lost_database() { database_unavailable(error) } else { error })
    });
    if limit.is_zero() {
        return work.await;
    }
    match select(work, app.clock.timeout(limit)).await {
        Either::Left((reply, _)) => reply,
        Either::Right(_) => Err(timeout_error()),
    }
}

/// Records that the requested redirect target is not used, if it is not listed.
///
/// It does not depend on the user, so it takes the same time for all.
fn record_redirect(cx: &RequestContext) {
    let header = cx.request.header("redirect_to").unwrap_or_default();
    let requested = if header.is_empty() { cx.request.query("redirect_to").unwrap_or_default() } else { header };
    if let Some(decision) = explain_target(&cx.app.redirect_allow_list, requested) {
        cx.journal.record_decision(decision);
    }
}

fn is_write_method(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE)
}

/// Request state that exists before the [`RequestContext`] is built.
#[derive(Clone, Copy)]
struct RequestMeta<'a> {
    id: &'a str,
    span: &'a Span,
    response_headers: &'a Arc<ResponseHeaders>,
    /// Set when the context is built.
    sender: &'a OnceLock<RequestSender>,
}

/// The journal of a request and what is known about its sender.
#[derive(Debug)]
struct RequestSender {
    journal: Arc<Journal>,
    client: Option<IpAddr>,
    user_agent: Option<String>,
}

impl RequestSender {
    fn new(cx: &RequestContext) -> Self {
        let is_traced = cx.journal.is_traced();
        Self {
            journal: Arc::clone(&cx.journal),
            client: if is_traced { cx.client_ip() } else { None },
            user_agent: if is_traced { cx.request.user_agent() } else { None },
        }
    }
}

/// The start and the end of a request, by the clock of the application.
#[derive(Debug, Clone, Copy)]
struct RequestTimes {
    started: Time,
    finished_at: Time,
}

/// A request with its reply.
struct AnsweredRequest<'a> {
    access: &'a AccessLogEntry<'a>,
    times: RequestTimes,
    sender: &'a RequestSender,
    refused: Option<&'a RedirectedError>,
}

/// Logs why a request was refused; in development the reply links to the explanation.
fn explain(app: &App, answered: &AnsweredRequest<'_>, reply: Reply) -> Reply {
    let AnsweredRequest { access, times, sender, refused } = answered;
    let request = ExplainedRequest {
        id: access.id,
        method: access.method.as_str(),
        path: access.requested.as_ref().map_or(&*access.path, |requested| requested.0.path()),
        status: reply.status().as_u16(),
        error: refused.map(|error| RefusedResponse { code: Some(&error.code), message: &error.message }),
        now: times.started,
        finished_at: times.finished_at,
        client: sender.client,
        user_agent: sender.user_agent.as_deref(),
    };
    match app.explanations.finish_request(&request, &sender.journal) {
        Some(link) => reply.with_header(EXPLAIN_HEADER, &link),
        None => reply,
    }
}

/// Creates the span of a request; the empty fields are recorded once they are known.
fn request_span(method: &Method, id: &str, trace: &RequestTrace) -> Span {
    tracing::info_span!(
        "request",
        http.request.method = method.as_str(),
        http.route = Empty,
        request.id = id,
        user.id = Empty,
        http.response.status_code = Empty,
        error.code = Empty,
        trace_id = trace.trace_id(),
        span_id = trace.span_id(),
        parent_span_id = trace.parent_id,
    )
}

/// Builds the [`RequestContext`].
///
/// A form body is consumed here, as by GoTrue's access log: JSON readers find it empty.
async fn build_context(app: &Arc<App>, request: Request, id: &str) -> RequestContext {
    let (parts, body) = request.into_parts();
    let is_behind_router = parts.extensions.get::<ResolvedRequest>().is_some();
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip().to_canonical());
    let mut info = RequestInfo {
        path: parts.uri.path().to_owned(),
        params: Vec::new(),
        query: parts.uri.query().map(parse_pairs).unwrap_or_default(),
        form_length: 0,
        target_host: parts.uri.authority().map(ToString::to_string),
        method: parts.method,
        headers: parts.headers,
        peer,
        client: parts.extensions.get::<ResolvedRequest>().and_then(|resolved| resolved.client),
        device: parts.extensions.get::<KnownDevice>().cloned(),
        id: id.to_owned(),
    };
    let body = RequestBody::new(body);
    let limit = if !is_behind_router && has_early_form(&info.path) { MAX_EARLY_FORM_BYTES } else { MAX_BODY_BYTES };
    let body = if has_form_body(&info) { read_form(&mut info, body, limit).await } else { body };
    RequestContext::new(app.clone(), info, body)
}

fn has_form_body(info: &RequestInfo) -> bool {
    let content_type = info.header("content-type").unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    matches!(info.method, Method::POST | Method::PUT | Method::PATCH)
        && kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Whether the reference reads a form sent to this path before it limits the body.
fn has_early_form(path: &str) -> bool {
    path == "/callback" || path.starts_with("/callback/") || path == "/sso/saml/acs"
}

/// Puts the pairs of the form before those of the query, as in Go's `Form`.
///
/// A form over the limit is empty.
async fn read_form(info: &mut RequestInfo, body: RequestBody, limit: usize) -> RequestBody {
    let bytes = body.read_up_to(limit).await.unwrap_or_default();
    let mut pairs = parse_pairs(&String::from_utf8_lossy(&bytes));
    info.form_length = pairs.len();
    pairs.append(&mut info.query);
    info.query = pairs;
    RequestBody::empty()
}

/// Returns the id that a router before the auth API has resolved, else the one that the policy selects.
fn request_id(app: &App, request: &Request) -> String {
    if let Some(resolved) = request.extensions().get::<ResolvedRequest>() {
        return resolved.id.as_str().to_owned();
    }
    let source = match app.policy.api.request_id_header.as_str() {
        "" => RequestIdSource::Generated,
        name => RequestIdSource::Verbatim(name),
    };
    RequestId::resolve(request.headers(), source, || app.entropy.uuid().to_string()).as_str().to_owned()
}

/// The error of a request that lost the database: 503, whatever error its flow returned.
fn database_unavailable(error: Error) -> Error {
    if error.status() == 503 { error } else { Error::database_unavailable().with_cause(error) }
}

/// Lines about requests that are refused because there are too many at once.
static OVERLOADS: LogLimit = LogLimit::new();

fn panic_error() -> Error {
    Error::internal_server_error("panic")
}

fn timeout_error() -> Error {
    Error::new(ErrorCode::RequestTimeout, "Processing this request timed out, please retry after a moment.")
}

/// Whether too many requests at once, which any client can send, are the cause of a server error.
fn is_overload(error: &Error) -> bool {
    error.status() == 503 && error.code() == ErrorCode::OverRequestRateLimit
}

/// Logs an error response once; only server errors have level `error`.
fn log_error(error: &Error, id: &str) {
    let cause = error.cause.as_ref().map(|cause| tracing::field::display(ErrorChain(cause.as_ref())));
    let is_left_out = is_overload(error) && OVERLOADS.admit("").is_none();
    if error.status() >= 500 && !is_left_out {
        tracing::error!(
            request.id = id,
            status = error.status(),
            code = error.code().as_str(),
            cause,
            detail = error.message(),
            "request failed"
        );
    } else {
        tracing::debug!(
            request.id = id,
            status = error.status(),
            code = error.code().as_str(),
            cause,
            detail = error.message(),
            "cause of a refused request"
        );
    }
}

/// The fields of an access log line; never the query, headers or body.
struct AccessLogEntry<'a> {
    method: Method,
    path: String,
    /// The target that the client has requested, where it is another one.
    requested: Option<RequestedUri>,
    id: &'a str,
}

fn log_access(access: &AccessLogEntry<'_>, reply: &Reply, duration_ms: i64) {
    let AccessLogEntry { method, path, id, .. } = access;
    if path != "/health" {
        tracing::info!(request.id = id, %method, path, status = reply.status().as_u16(), duration_ms, "request answered");
    }
}
