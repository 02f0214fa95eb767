//! Resumable uploads: TUS 1.0.0 with creation, creation with upload and with a length that is not known, termination and
//! expiration (<https://tus.io/protocols/resumable-upload>).
//!
//! The id of an upload becomes the version of the object. Its content grows in the staging of the backend; when it is
//! complete it becomes a file, and then the row is written. A request that finds a complete upload without a row writes it.

mod answer;
mod authorize;
mod create;
mod location;
mod metadata;
mod problem;
mod progress;
mod request;
mod upload;

use std::sync::Arc;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use self::answer::Answer;
use self::problem::TusProblem;
use self::request::Request;
use crate::caller::Caller;
use crate::request::{Call, Query};
use crate::response::{self, with_refusal, with_retry_after};
use crate::storage::Storage;

/// The version of the protocol.
const VERSION: HeaderValue = HeaderValue::from_static("1.0.0");
const EXTENSIONS: &str = "creation,creation-with-upload,creation-defer-length,termination,expiration";
const TEXT: HeaderValue = HeaderValue::from_static("text/plain;charset=UTF-8");
const METHODS: &str = "POST, HEAD, PATCH, OPTIONS, DELETE";
const EXPOSED_HEADERS: &str = "Authorization, Content-Type, Location, Tus-Extension, Tus-Max-Size, Tus-Resumable, \
    Tus-Version, Upload-Concat, Upload-Defer-Length, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, \
    X-Requested-With, X-Forwarded-Host, X-Forwarded-Proto, Forwarded";
const MORE_ALLOWED_HEADERS: &str = "Authorization, X-Upsert, Upload-Expires, ApiKey, x-signature";

/// Answers a request. `rest` is the path behind `/upload/resumable`.
pub async fn handle(storage: &Arc<Storage>, parts: Parts, body: Body, rest: &str) -> Response<Body> {
    let (is_signed, rest) = match rest.strip_prefix("/sign") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => (true, rest),
        _ => (false, rest),
    };
    let segment = rest.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let is_known = match parts.method {
        Method::OPTIONS | Method::POST => true,
        Method::PUT | Method::PATCH | Method::HEAD | Method::DELETE => rest.starts_with('/'),
        _ => false,
    };
    let suffix = if is_signed { "/sign" } else { "" };
    let path = format!("/upload/resumable{suffix}{rest}");
    if !is_known {
        return response::no_route(parts.method.as_str(), &path, false);
    }
    let mut call = Call {
        storage: Arc::clone(storage),
        query: Query::default(),
        path,
        operation: operation(&parts.method, is_signed),
        caller: Caller::anonymous(),
        parts,
    };
    if call.parts.method == Method::OPTIONS {
        return finish(&call.parts.method, Ok(describe(storage)));
    }
    if !is_signed && let Err(error) = call.authenticate_by_token() {
        return response::failure(&error);
    }
    let method = call.parts.method.clone();
    let request = Request { call, is_signed, grant: None };
    let answer = match request.check_headers() {
        Ok(()) => request.dispatch(body, &segment).await,
        Err(problem) => Err(problem),
    };
    finish(&method, answer)
}

fn operation(method: &Method, is_signed: bool) -> &'static str {
    match (method.as_str(), is_signed) {
        ("POST", false) => "storage.tus.upload.create",
        ("POST", true) => "storage.tus.upload.create_signed",
        ("HEAD", false) => "storage.tus.upload.get",
        ("HEAD", true) => "storage.tus.upload.get_signed",
        ("DELETE", false) => "storage.tus.upload.delete",
        ("DELETE", true) => "storage.tus.upload.delete_signed",
        ("OPTIONS", false) => "storage.tus.options",
        ("OPTIONS", true) => "storage.tus.options_signed",
        (_, false) => "storage.tus.upload.part",
        (_, true) => "storage.tus.upload.part_signed",
    }
}

/// What the server can do.
fn describe(storage: &Storage) -> Answer {
    let mut answer = Answer::new(StatusCode::NO_CONTENT);
    answer.set("tus-version", "1.0.0");
    answer.set("tus-extension", EXTENSIONS);
    answer.set("tus-max-size", &storage.config().file_size_limit.to_string());
    answer.set("access-control-allow-methods", METHODS);
    answer.set("access-control-allow-headers", &format!("{EXPOSED_HEADERS}, {MORE_ALLOWED_HEADERS}"));
    answer.set("access-control-max-age", "86400");
    answer
}

/// Makes the response: an answer, or the text of a problem.
fn finish(method: &Method, answer: Result<Answer, TusProblem>) -> Response<Body> {
    let (status, mut headers, text, refusal, retry_after) = match answer {
        Ok(answer) => (answer.status, answer.headers, String::new(), None, None),
        Err(problem) => {
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, HeaderMap::new(), problem.text, problem.refusal, problem.retry_after)
        }
    };
    headers.insert("tus-resumable", VERSION);
    headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
    headers.insert("access-control-expose-headers", HeaderValue::from_static(EXPOSED_HEADERS));
    if status != StatusCode::NO_CONTENT {
        headers.insert(http::header::CONTENT_TYPE, TEXT);
        if *method == Method::HEAD && !text.is_empty() {
            headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from(text.len()));
        }
    }
    let body = if *method == Method::HEAD { Body::empty() } else { Body::from(text) };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    with_refusal(with_retry_after(response, retry_after), refusal.as_ref())
}

impl Request {
    async fn dispatch(mut self, body: Body, segment: &str) -> Result<Answer, TusProblem> {
        match self.call.parts.method.as_str() {
            "POST" => self.create(body).await,
            "PATCH" => self.append(body, segment).await,
            "HEAD" => self.report(segment).await,
            "DELETE" => self.terminate(segment).await,
            _ => Err(TusProblem::no_route()),
        }
    }
}
