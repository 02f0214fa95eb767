//! Applies faults to requests: answers in place of the server, delays, and broken connections.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use foundation::error::{Error, ErrorCode, ErrorKind, WeakPasswordReason};
use futures::{Stream, StreamExt, stream};
use gotrue_rs::app::App;
use gotrue_rs::http::reply::Reply;
use gotrue_rules::wire::error::{ApiVersion, VERSION_HEADER};
use http::header::{AUTHORIZATION, CONTENT_LENGTH};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::BodyExt;
use http_edge::request::{BearerWhitespace, cors, single_header};
use platform::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::action::{FaultAction, FaultEffect};
use super::content::ResponseContent;
use super::rules::FaultRules;
use super::user::RequestUser;

/// Answers a request by `answer`, unless a rule affects it.
///
/// The path of the request is the one below the base URL of the world. Delays are in real time: a frozen clock of the
/// world does not stop them.
pub async fn serve<F, A>(rules: &FaultRules, app: &Arc<App>, request: Request, answer: F) -> Response
where
    F: FnOnce(Request) -> A,
    A: Future<Output = Response>,
{
    let Some(action) = find_action(rules, app, &request) else { return answer(request).await };
    if !action.delay.is_zero() {
        SystemClock.sleep(action.delay).await;
    }
    match action.effect {
        FaultEffect::Continue | FaultEffect::Fail(_) => answer(request).await,
        FaultEffect::Drop => dropped_response(),
        FaultEffect::Truncate(length) => truncate(answer(request).await, length).await,
        FaultEffect::Error { status, code, retry_after } => {
            if is_data_api(request.uri().path()) {
                return cors::FORWARDED.apply(build_response(status, build_data_error(code, retry_after)));
            }
            let version = request.headers().get(VERSION_HEADER).and_then(|value| value.to_str().ok());
            let error = Error { retry_after, ..build_error(status, code) };
            let id = app.entropy.uuid().to_string();
            cors::GATEWAY.apply(Reply::from_error(&error, ApiVersion::from_header(version), &id).into_response())
        }
        FaultEffect::Respond { status, body, retry_after } => {
            cors::GATEWAY.apply(build_response(status, ResponseContent::build(body, retry_after)))
        }
    }
}

fn find_action(rules: &FaultRules, app: &Arc<App>, request: &Request) -> Option<FaultAction> {
    if rules.is_empty() {
        return None;
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let user = if rules.needs_user() { find_user(app, request.headers()) } else { None };
    rules.for_request(request.method(), path, user.as_ref())
}

/// Returns the user of a valid access token.
fn find_user(app: &Arc<App>, headers: &HeaderMap) -> Option<RequestUser> {
    let token = single_header(headers, &AUTHORIZATION).bearer(BearerWhitespace::Trimmed).present()?;
    let claims = app.keys.verify(token, app.clock.now()).ok()?;
    let text = |name| claims.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(RequestUser { id: text("sub"), email: text("email") })
}

/// Builds an error of the catalogue in the form that the auth API gives it.
fn build_error(status: u16, code: ErrorCode) -> Error {
    match code {
        ErrorCode::WeakPassword => Error::from_kind(ErrorKind::WeakPassword {
            message: code.cause().to_owned(),
            reasons: vec![WeakPasswordReason::Length],
        }),
        code => Error::http(status, code, code.cause()),
    }
}

/// Whether a path is one of the data API, whose errors have another form.
fn is_data_api(path: &str) -> bool {
    path.strip_prefix("/rest/v1").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Builds an error of the catalogue in the form that the data API gives its errors.
fn build_data_error(code: ErrorCode, retry_after: Option<u64>) -> ResponseContent {
    let body = json!({ "code": code.as_str(), "details": null, "hint": null, "message": code.cause() });
    ResponseContent::build(Some(body), retry_after)
}

fn build_response(status: u16, content: ResponseContent) -> Response {
    let mut response = Response::new(Body::from(content.body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = content.headers;
    response
}

/// Returns the response with the first bytes of its body, and with the length of the whole body.
async fn truncate(response: Response, length: usize) -> Response {
    let (mut head, body) = response.into_parts();
    let whole = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let kept = whole.slice(..length.min(whole.len().saturating_sub(1)));
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(whole.len().max(1)));
    let sent = stream::once(async { Ok(kept) });
    // The pause lets the connection send what it has before it is closed.
    let pause = stream::once(tokio::task::yield_now()).filter_map(|()| std::future::ready(None));
    Response::from_parts(head, Body::from_stream(sent.chain(pause).chain(connection_error())))
}

/// Returns a response that closes the connection.
///
/// The error of its body precedes the first flush of its head.
fn dropped_response() -> Response {
    Response::new(Body::from_stream(connection_error()))
}

fn connection_error() -> impl Stream<Item = io::Result<Bytes>> {
    stream::once(async { Err(io::Error::from(io::ErrorKind::ConnectionAborted)) })
}
