//! Reading objects: content, header fields, and what is known about them.

use axum::body::Body;
use chrono::{DateTime, Utc};
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, EXPIRES,
    LAST_MODIFIED,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};

use super::cache::Moment;
use super::{Door, Target, render};
use crate::backend::{BackendError, Content, FileKey};
use crate::caller::Caller;
use crate::caller::signed_url::{self, Scope as TokenScope};
use crate::database::rows::{json as json_column, text as column};
use crate::database::{End, Step, sql, text};
use crate::error::Error;
use crate::image::Transformation;
use crate::request::Call;
use crate::request::fields::Fields;
use crate::response::{header_value, http_date};
use crate::{disposition, mime, names, range, response, robots};

/// An object as a JSON document.
pub(crate) const OBJECT: &str = "json_build_object('name', name, 'bucket_id', coalesce(bucket_id, ''), \
    'owner', coalesce(owner::text, ''), 'owner_id', coalesce(owner_id, ''), 'version', coalesce(version, ''), 'id', id, \
    'updated_at', to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'created_at', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'last_accessed_at', to_char(last_accessed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'metadata', metadata, 'user_metadata', user_metadata)::text";

/// The attempts to open a file that other requests replace.
const ATTEMPTS: usize = 3;

const ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// By whose right an object is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// That of the server: a token of its own names the object.
    Service,
    /// Anybody's: the bucket has to be public.
    Public,
    /// The caller's, or anybody's where the bucket is public.
    Caller,
}

/// An object that the caller may read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// The object as the API shows it.
    pub(crate) document: Value,
    /// The version of its file.
    pub(crate) version: Option<String>,
}

impl Found {
    /// A member of the column `metadata`.
    fn text(&self, name: &str) -> Option<&str> {
        self.document["metadata"].get(name).and_then(Value::as_str)
    }

    /// The size in bytes, if the row has it.
    pub(crate) fn size(&self) -> Option<u64> {
        let read = |name: &str| match self.document["metadata"].get(name)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        read("size").or_else(|| read("contentLength"))
    }

    /// The type, if the row has it.
    pub(crate) fn mime_type(&self) -> Option<&str> {
        self.text("mimetype")
    }

    /// The quoted entity tag, if the row has it.
    pub(crate) fn etag(&self) -> Option<&str> {
        self.text("eTag")
    }

    /// The value of `Cache-Control`, if the row has it.
    pub(crate) fn cache_control(&self) -> Option<&str> {
        self.text("cacheControl")
    }

    /// When the content was written, if the row has it.
    pub(crate) fn last_modified(&self) -> Option<DateTime<Utc>> {
        match self.document["metadata"].get("lastModified")? {
            Value::String(text) => {
                let time = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc2822(text));
                time.ok().map(|time| time.with_timezone(&Utc))
            }
            milliseconds => DateTime::from_timestamp_millis(milliseconds.as_i64()?),
        }
    }

    /// When the object was created.
    pub(crate) fn created_at(&self) -> Option<DateTime<Utc>> {
        let text = self.document["created_at"].as_str()?;
        DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
    }

    /// What search engines may do with it.
    fn robots_tag(&self) -> &str {
        self.text("xRobotsTag").filter(|tag| robots::check(tag).is_ok()).unwrap_or("none")
    }

    pub(crate) fn file(&self, target: &Target) -> FileKey {
        FileKey { bucket: target.bucket.clone(), name: target.name.clone(), version: self.version.clone() }
    }
}

/// Finds an object that may be read.
///
/// # Errors
/// 404: there is none, or it may not be read. 400: no object has such a name.
pub(crate) async fn locate(call: &Call, target: &Target, access: Access) -> Result<Found, Error> {
    if target.bucket.contains('\0') {
        return Err(Error::no_such_bucket(""));
    }
    names::check_bucket_name(&target.bucket)?;
    let name_check = names::check_object_name(&target.name);
    let name = if name_check.is_ok() { target.name.as_str() } else { "" };
    let values = || [text(target.bucket.as_str()), text(name)];
    // What anybody may read the caller may read too.
    let (public_objects, moment) = (call.storage.public_objects(), Moment::before(call.storage.database()));
    if access != Access::Service
        && let Some(found) = public_objects.find(target, moment)
    {
        return Ok(found);
    }
    let service = call.service_scope();
    let caller = call.scope();
    let is_visible = if access == Access::Service { "true" } else { "buckets.public" };
    let public = format!(
        "SELECT coalesce({is_visible}, false)::text, found.document, found.version, (found.document IS NOT NULL)::text \
         FROM storage.buckets LEFT JOIN LATERAL \
            (SELECT {OBJECT} AS document, version FROM storage.objects WHERE bucket_id = $1 AND name = $2 LIMIT 1) AS found \
            ON {is_visible} \
         WHERE buckets.id = $1"
    );
    let private =
        format!("SELECT {OBJECT} AS document, version FROM storage.objects WHERE bucket_id = $1 AND name = $2 LIMIT 1");
    let mut steps = vec![Step::As(&service), Step::Run(sql(&public, values()))];
    if access == Access::Caller && call.caller.is_authenticated {
        steps.extend([Step::As(&caller), Step::Run(sql(&private, values()))]);
    }
    let mut results = call.storage.database().fly(&steps, End::Rollback).await?.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    let buckets = next()?;
    let bucket = buckets.first();
    let is_public = bucket.is_some_and(|row| column(row, 0).is_some_and(|text| text == "true"));
    let may_ask = is_public || (access == Access::Caller && call.caller.is_authenticated && bucket.is_some());
    if !may_ask {
        return Err(Error::no_such_bucket(&target.bucket));
    }
    name_check?;
    let rows = if is_public { buckets } else { next()? };
    let (document, version) = if is_public { (1, 2) } else { (0, 1) };
    let found = rows
        .first()
        .and_then(|row| Some(Found { document: json_column(row, document)?, version: column(row, version) }));
    let found = found.ok_or_else(|| Error::no_such_key(&target.name))?;
    if is_public && access != Access::Service {
        public_objects.keep(target, &found, moment);
    }
    Ok(found)
}

/// By whose right a request reads, and when its right ends.
pub(super) fn authorize(call: &mut Call, door: Door, target: &Target) -> Result<(Access, Option<i64>), Error> {
    match door {
        Door::Public => {
            call.caller = Caller::anonymous();
            Ok((Access::Public, None))
        }
        Door::Plain => {
            call.authenticate_if_valid();
            Ok((Access::Caller, None))
        }
        Door::Authenticated => {
            call.authenticate()?;
            Ok((Access::Caller, None))
        }
        Door::Signed => {
            let token = call.url_token()?;
            let now = call.storage.now().timestamp();
            let claims = signed_url::verify(&call.storage.keys(), &token, TokenScope::Download, &target.path(), now)?;
            Ok((Access::Service, claims.get("exp").and_then(Value::as_f64).map(seconds)))
        }
    }
}

/// Whether the token, whose signature was verified, is for a transformed image alone and not for its source.
fn is_for_transformation(call: &Call) -> bool {
    let now = call.storage.now().timestamp();
    let claims = call.query.get("token").and_then(|token| call.storage.keys().verify_url(token, now).ok());
    claims.is_some_and(|claims| {
        claims.get("transformations").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
fn seconds(time: f64) -> i64 {
    time as i64
}

/// `GET` and `HEAD` of an object
pub(super) async fn read(mut call: Call, door: Door, target: &Target) -> Result<Response<Body>, Error> {
    let is_head = call.parts.method == Method::HEAD && door != Door::Signed;
    // HEAD names the transformation of the query, as the routes of information do.
    let asked =
        if is_head { render::check_options(&Fields::of_query(&call.query))? } else { Transformation::default() };
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

/// Inserts a header field, unless the value has characters that none may have.
pub(super) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Some(value) = header_value(value) {
        headers.insert(name, value);
    }
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

/// The header fields of a response with content.
pub(super) fn describe(call: &Call, found: &Found, expires: Option<i64>, headers: &mut HeaderMap) {
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let mime_type = found.mime_type().unwrap_or("application/octet-stream");
    insert(headers, CONTENT_TYPE, mime::served_type(mime_type));
    if let Some(etag) = found.etag() {
        insert(headers, ETAG, etag);
    }
    insert(headers, ROBOTS_TAG, found.robots_tag());
    if let Some(time) = found.last_modified() {
        insert(headers, LAST_MODIFIED, &http_date(time));
    }
    match expires.and_then(|time| DateTime::from_timestamp(time, 0)) {
        Some(time) => insert(headers, EXPIRES, &http_date(time)),
        None => insert_cache_control(call, found, "stale-while-revalidate=30", headers),
    }
    if let Some(file_name) = call.query.get("download") {
        insert(headers, CONTENT_DISPOSITION, &disposition::attachment(file_name));
    }
}

/// `Cache-Control` as it was stored, with `addition` where the client has other content.
fn insert_cache_control(call: &Call, found: &Found, addition: &str, headers: &mut HeaderMap) {
    let has_other = call.filled_header("if-none-match").is_some_and(|tag| found.etag() != Some(tag));
    let stored = found.cache_control().filter(|value| !value.is_empty());
    let parts: Vec<&str> = stored.into_iter().chain(has_other.then_some(addition)).collect();
    if !parts.is_empty() {
        insert(headers, CACHE_CONTROL, &parts.join(", "));
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
    render::describe_options(call, asked, &mut headers);
    build(StatusCode::OK, headers, Body::empty())
}

/// `GET /object/info/…`
pub(super) async fn info(mut call: Call, door: Door, target: &Target) -> Result<Response<Body>, Error> {
    let asked = render::check_options(&Fields::of_query(&call.query))?;
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
    render::describe_options(&call, &asked, headers);
    Ok(response)
}
