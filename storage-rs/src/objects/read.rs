//! Reading objects: content, header fields, and what is known about them.

use axum::body::Body;
use chrono::DateTime;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};

use super::access::{Door, authorize, locate};
use super::header_fields::{describe, insert, insert_cache_control};
use super::transformation::{check_options, describe_options};
use crate::backend::{BackendError, Content};
use crate::error::Error;
use crate::image::Transformation;
use crate::object_row::Found;
use crate::request::Call;
use crate::request::fields::Fields;
use crate::response::http_date;
use crate::target::Target;
use crate::{range, response};

/// The attempts to open a file that other requests replace.
const ATTEMPTS: usize = 3;

/// Whether the token, whose signature was verified, is for a transformed image alone and not for its source.
fn is_for_transformation(call: &Call) -> bool {
    let now = call.storage.now().timestamp();
    let claims = call.query.get("token").and_then(|token| call.storage.keys().verify_url(token, now).ok());
    claims.is_some_and(|claims| {
        claims.get("transformations").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    })
}

/// `GET` and `HEAD` of an object
pub(super) async fn read(mut call: Call, door: Door, target: &Target) -> Result<Response<Body>, Error> {
    let is_head = call.parts.method == Method::HEAD && door != Door::Signed;
    // HEAD names the transformation of the query, as the routes of information do.
    let asked = if is_head { check_options(&Fields::of_query(&call.query))? } else { Transformation::default() };
    let (access, expires) = authorize(&mut call, door, target)?;
    if door == Door::Signed && is_for_transformation(&call) {
        return Err(Error::invalid_signature("Invalid signature"));
    }
    if is_head {
        let found = locate(&call, target, access).await?;
        return Ok(head(&call, &found, &asked));
    }
    let mut attempt = 1;
    loop {
        let found = locate(&call, target, access).await?;
        match open(&call, target, &found, expires).await {
            // The file of a version is deleted after the row has another one: the row is read again.
            Err(ReadProblem::NotFound) if attempt < ATTEMPTS => {
                call.storage.public_objects().remove(target);
                attempt += 1;
            }
            Err(ReadProblem::NotFound) => return Ok(missing_file()),
            Err(ReadProblem::Other(error)) => return Err(error),
            Ok(response) => return Ok(response),
        }
    }
}

/// Why a file is not read.
enum ReadProblem {
    NotFound,
    Other(Error),
}

impl From<BackendError> for ReadProblem {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::NotFound => Self::NotFound,
            error => Self::Other(error.into()),
        }
    }
}

/// The response to an object whose row has no file.
fn missing_file() -> Response<Body> {
    let error = Error::from(BackendError::NotFound);
    tracing::warn!("an object has a row and no file");
    let mut response = response::json_response(error.rest_status(), &error.body());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn open(
    call: &Call,
    target: &Target,
    found: &Found,
    expires: Option<i64>,
) -> Result<Response<Body>, ReadProblem> {
    let backend = call.storage.backend();
    let file = found.file(target);
    let mut headers = HeaderMap::new();
    if is_not_modified(call, found) {
        describe(call, found, expires, &mut headers);
        return Ok(build(StatusCode::NOT_MODIFIED, headers, Body::empty()));
    }
    let is_current = || range::is_current(call.header("if-range"), found.etag(), found.last_modified());
    let bytes = match call.filled_header("range").filter(|_| is_current()) {
        None => None,
        Some(header) => {
            let size = match found.size() {
                Some(size) => size,
                None => backend.head(&file).await?.size,
            };
            let bytes = range::parse(header, size).map_err(ReadProblem::Other)?;
            insert(&mut headers, CONTENT_RANGE, &range::content_range(&bytes, size));
            Some(bytes)
        }
    };
    let (facts, content) = backend.get(&file, bytes.clone()).await?;
    let length = bytes.as_ref().map_or(facts.size, |bytes| bytes.end - bytes.start);
    describe(call, found, expires, &mut headers);
    if found.etag().is_none() {
        insert(&mut headers, ETAG, &facts.etag);
    }
    if found.last_modified().is_none() {
        insert(&mut headers, LAST_MODIFIED, &http_date(facts.last_modified));
    }
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    let status = if bytes.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    Ok(build(status, headers, content_body(content)))
}

/// A body that ends the connection when the content ends early.
pub(super) fn content_body(content: Content) -> Body {
    Body::from_stream(content)
}

fn build(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Whether the client has the content already (RFC 9110 §13.1): an entity tag counts more than a time.
fn is_not_modified(call: &Call, found: &Found) -> bool {
    if let Some(tags) = call.filled_header("if-none-match") {
        return found.etag() == Some(tags);
    }
    let since = call.header("if-modified-since").and_then(|text| DateTime::parse_from_rfc2822(text).ok());
    match (since, found.last_modified()) {
        (Some(since), Some(modified)) => modified.timestamp() <= since.timestamp(),
        _ => false,
    }
}

/// The response to HEAD, by the row alone.
fn head(call: &Call, found: &Found, asked: &Transformation) -> Response<Body> {
    let mut headers = HeaderMap::new();
    describe(call, found, None, &mut headers);
    headers.remove(CONTENT_DISPOSITION);
    headers.remove(CACHE_CONTROL);
    insert_cache_control(call, found, "must-revalidate", &mut headers);
    if let Some(size) = found.size() {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    }
    describe_options(call, asked, &mut headers);
    build(StatusCode::OK, headers, Body::empty())
}

/// `GET /object/info/…`
pub(super) async fn info(mut call: Call, door: Door, target: &Target) -> Result<Response<Body>, Error> {
    let asked = check_options(&Fields::of_query(&call.query))?;
    let (access, _) = authorize(&mut call, door, target)?;
    let found = locate(&call, target, access).await?;
    let document = &found.document;
    let mut response = response::ok(&json!({
        "id": document["id"],
        "name": document["name"],
        "version": found.version,
        "bucket_id": document["bucket_id"],
        "size": found.size(),
        "content_type": found.mime_type(),
        "cache_control": found.cache_control(),
        "etag": found.etag(),
        "metadata": document["user_metadata"],
        "last_modified": document["updated_at"],
        "created_at": document["created_at"],
    }));
    let headers = response.headers_mut();
    if let Some(etag) = found.etag() {
        insert(headers, ETAG, etag);
    }
    if let Some(time) = found.last_modified() {
        insert(headers, LAST_MODIFIED, &http_date(time));
    }
    if let Some(value) = found.cache_control() {
        insert(headers, CACHE_CONTROL, value);
    }
    describe_options(&call, &asked, headers);
    Ok(response)
}
