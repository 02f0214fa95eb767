//! What surrounds every request, outermost first: CORS, panics, request id, the access log (which eats forms), the
//! deadline. `endpoints.md` §1.1 has the order.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use futures::FutureExt;
use futures::future::{Either, select};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::wire::error::{ApiVersion, VERSION_HEADER};
use http::{HeaderValue, Method};

use super::body::RequestBody;
use super::reply::Reply;
use super::request_info::{RequestInfo, parse_pairs};
use super::{cors, router};
use crate::app::App;
use crate::cx::{Cx, Marks};

/// Answers one request from the route table.
pub async fn serve(app: Arc<App>, table: Arc<Vec<router::Entry>>, request: Request) -> Response {
    let origin = request.headers().get(http::header::ORIGIN).cloned();
    if cors::is_preflight(request.method(), request.headers()) {
        return cors::preflight(&app.policy.api, request.headers());
    }
    let version = ApiVersion::from_header(request.headers().get(VERSION_HEADER).and_then(|it| it.to_str().ok()));
    let id = request_id(&app, &request);
    let mut response = answer(&app, &table, request, version, &id).await;
    cors::mark(&mut response, origin.as_ref());
    response
}

/// The answer inside CORS: a panic is a 500 and ends nothing else.
async fn answer(app: &Arc<App>, table: &[router::Entry], request: Request, version: ApiVersion, id: &str) -> Response {
    let started = app.clock.now();
    let marks = Arc::default();
    let told = Told { id, marks: &marks };
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let handled = AssertUnwindSafe(within_deadline(app, table, request, told)).catch_unwind().await;
    let result = handled.unwrap_or_else(|_| Err(panicked()));
    let reply = match result {
        Ok(reply) => reply,
        Err(error) => {
            tell(&error, id);
            Reply::refusal(&error, version, id)
        }
    };
    if reply.status().is_success() && writes(&method) {
        app.cleanup.tell();
    }
    let reply = marks.on(reply);
    log_access(&Access { method, path, id }, &reply, (app.clock.now() - started).num_milliseconds());
    reply.into_response()
}

async fn within_deadline(app: &Arc<App>, table: &[router::Entry], request: Request, told: Told<'_>) -> Result<Reply> {
    let work = std::pin::pin!(async {
        let mut cx = open(app, request, told.id).await;
        cx.request.check()?;
        cx.marks = told.marks.clone();
        let journal = Arc::clone(&cx.journal);
        let result = router::dispatch(table, cx).await;
        result.map_err(|error| if journal.has_lost_database() { unavailable(error) } else { error })
    });
    let limit = app.policy.api.max_request_duration;
    if limit.is_zero() {
        return work.await;
    }
    match select(work, app.clock.sleep(limit)).await {
        Either::Left((reply, _)) => reply,
        Either::Right(_) => Err(timed_out()),
    }
}

fn writes(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE)
}

/// What the layers know of a request before it is opened.
#[derive(Clone, Copy)]
struct Told<'a> {
    id: &'a str,
    marks: &'a Arc<Marks>,
}

/// Builds the [`Cx`]. A form is read here, as the reference's access log does: JSON readers then see nothing.
async fn open(app: &Arc<App>, request: Request, id: &str) -> Cx {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip().to_canonical());
    let mut info = RequestInfo {
        path: parts.uri.path().to_owned(),
        params: Vec::new(),
        query: parts.uri.query().map(parse_pairs).unwrap_or_default(),
        target_host: parts.uri.authority().map(ToString::to_string),
        method: parts.method,
        headers: parts.headers,
        peer,
        id: id.to_owned(),
    };
    let body = RequestBody::new(body);
    let body = if takes_form(&info) { read_form(&mut info, body).await } else { body };
    Cx::new(app.clone(), info, body)
}

fn takes_form(info: &RequestInfo) -> bool {
    let content_type = info.header("content-type").unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    matches!(info.method, Method::POST | Method::PUT | Method::PATCH)
        && kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// The form's pairs come before the query's, as in Go's `Form`.
async fn read_form(info: &mut RequestInfo, body: RequestBody) -> RequestBody {
    let bytes = body.bytes().await.unwrap_or_default();
    let mut pairs = parse_pairs(&String::from_utf8_lossy(&bytes));
    pairs.append(&mut info.query);
    info.query = pairs;
    RequestBody::empty()
}

fn request_id(app: &App, request: &Request) -> String {
    match app.policy.api.request_id_header.as_str() {
        "" => app.entropy.uuid().to_string(),
        name => {
            let sent = request.headers().get(name).map(HeaderValue::as_bytes).unwrap_or_default();
            String::from_utf8_lossy(sent).into_owned()
        }
    }
}

/// The refusal of a request that has lost its database: 503, whatever its flow made of that.
fn unavailable(error: Error) -> Error {
    if error.status() == 503 { error } else { Error::database_unavailable().because(error) }
}

fn panicked() -> Error {
    Error::broken("panic")
}

fn timed_out() -> Error {
    Error::http(504, "request_timeout", "Processing this request timed out, please retry after a moment.")
}

/// Logs a refusal once; only the server's own failures are errors.
fn tell(error: &Error, id: &str) {
    let cause = error.cause.as_ref().map(|cause| tracing::field::display(error_chain(cause.as_ref())));
    if error.status() >= 500 {
        tracing::error!(
            request.id = id,
            status = error.status(),
            code = error.code(),
            cause,
            "request failed: {}",
            error.message()
        );
    } else {
        tracing::debug!(
            request.id = id,
            status = error.status(),
            code = error.code(),
            cause,
            "request refused: {}",
            error.message()
        );
    }
}

/// An error with everything that caused it, outermost first. A cause that its effect already quotes is left out.
fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut chain = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !chain.ends_with(&text) {
            chain = format!("{chain}: {text}");
        }
        cause = error.source();
    }
    chain
}

/// What the access log says of a request; never its query, headers or body.
struct Access<'a> {
    method: Method,
    path: String,
    id: &'a str,
}

fn log_access(access: &Access<'_>, reply: &Reply, duration_ms: i64) {
    let Access { method, path, id } = access;
    if path != "/health" {
        tracing::info!(request.id = id, %method, path, status = reply.status().as_u16(), duration_ms, "request answered");
    }
}
