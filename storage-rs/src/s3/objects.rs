//! Reading, copying and deleting objects.

use std::collections::BTreeSet;

use axum::body::Body;
use chrono::DateTime;
use http::{HeaderMap, HeaderName, StatusCode};
use serde_json::{Map, Value};

use super::answer::S3Answer;
use super::request::Request;
use super::xml::{Element, child_text, children};
use crate::backend::BackendError;
use crate::database::rows::{json as json_column, text as column};
use crate::database::{array, sql, text};
use crate::error::{Code, Error};
use crate::object_row::{Found, OBJECT};
use crate::objects::remove::{remove_object, remove_objects};
use crate::objects::transfer::{CopyOrder, copy_object};
use crate::range;
use crate::request::{decode_path, json_body};
use crate::response::{header_value, http_date};
use crate::target::Target;

/// The type of an object without one.
pub(super) const DEFAULT_TYPE: &str = "application/octet-stream";
/// The largest document in a body, in bytes: a list of 10,000 parts, or of 1,000 names.
const MAXIMUM_DOCUMENT: usize = 2 * 1024 * 1024;
/// The most names in a request that deletes.
const MAXIMUM_NAMES: usize = 1000;
/// The attempts to open a file that other requests replace.
const ATTEMPTS: usize = 3;
/// The largest value of user metadata that is sent in a header field, in bytes.
const MAXIMUM_METADATA_VALUE: usize = 8192;

/// The object that a header `x-amz-copy-source` names. Its percent encoding is removed, and its version is ignored.
pub(super) fn parse_copy_source(header: &str) -> Result<Target, Error> {
    let source = header.split_once("?versionId=").map_or(header, |(source, _)| source);
    let source = decode_path(source).unwrap_or_else(|| source.to_owned());
    let (bucket, name) = source.strip_prefix('/').unwrap_or(&source).split_once('/').unwrap_or((source.as_str(), ""));
    if bucket.is_empty() && !source.is_empty() {
        return Err(Error::invalid_bucket_name(""));
    }
    if name.is_empty() {
        return Err(Error::new(Code::MissingParameter, 400, "Missing Required Parameter CopySource"));
    }
    Ok(Target { bucket: bucket.to_owned(), name: name.to_owned() })
}

/// Reads a document in a body. One that is announced as JSON has to be JSON, as in the reference.
pub(super) async fn read_document(headers: &HeaderMap, body: Body) -> Result<String, Error> {
    let bytes = axum::body::to_bytes(body, MAXIMUM_DOCUMENT)
        .await
        .map_err(|error| Error::new(Code::MalformedXML, 400, "Invalid XML payload").because(error))?;
    if json_body::is_announced(headers) {
        json_body::parse(&bytes, false)?;
    }
    String::from_utf8(bytes.to_vec())
        .map_err(|_| Error::new(Code::MalformedXML, 400, "Invalid XML payload: Invalid XML character"))
}

/// Parses a document. A type definition is refused, so that nothing in it expands.
pub(super) fn parse_document(text: &str) -> Result<roxmltree::Document<'_>, Error> {
    let text = text.trim_start_matches('\u{feff}');
    roxmltree::Document::parse(text)
        .map_err(|error| Error::new(Code::MalformedXML, 400, format!("Invalid XML payload: {error}")))
}

/// The times and tags that a condition of a request is about.
struct Conditions<'a> {
    matching: Option<&'a str>,
    none_match: Option<&'a str>,
    modified_since: Option<&'a str>,
    unmodified_since: Option<&'a str>,
}

/// What conditions say about an object (RFC 9110 §13.2.2).
#[derive(PartialEq, Eq)]
enum Verdict {
    Go,
    NotModified,
    Failed,
}

impl Conditions<'_> {
    fn evaluate(&self, found: &Found) -> Verdict {
        let is_listed = |list: &str| {
            let etag = found.etag().unwrap_or_default().trim_matches('"');
            list.split(',')
                .map(|tag| tag.trim().trim_start_matches("W/").trim_matches('"'))
                .any(|tag| tag == "*" || tag == etag)
        };
        let modified = found.last_modified().map(|time| time.timestamp());
        let compare = |text: &str| {
            DateTime::parse_from_rfc2822(text).ok().zip(modified).map(|(since, modified)| modified > since.timestamp())
        };
        if let Some(list) = self.matching {
            if !is_listed(list) {
                return Verdict::Failed;
            }
        } else if self.unmodified_since.and_then(compare) == Some(true) {
            return Verdict::Failed;
        }
        if let Some(list) = self.none_match {
            if is_listed(list) {
                return Verdict::NotModified;
            }
        } else if self.modified_since.and_then(compare) == Some(false) {
            return Verdict::NotModified;
        }
        Verdict::Go
    }
}

fn precondition_failed() -> Error {
    Error::new(Code::PreconditionFailed, 412, "At least one of the pre-conditions you specified did not hold")
}

/// Returns what a write answers that must not replace an object (`If-None-Match: *`) and found one.
pub(super) fn refused_replacement(error: Error, replaces: bool) -> Error {
    match error.code {
        Code::KeyAlreadyExists | Code::ResourceAlreadyExists if !replaces => precondition_failed(),
        _ => error,
    }
}

impl Request {
    /// Finds an object as the caller sees it.
    pub(super) async fn find_object(&self, target: &Target) -> Result<Found, Error> {
        let statement = sql(
            &format!("SELECT {OBJECT}, version FROM storage.objects WHERE bucket_id = $1 AND name = $2 LIMIT 1"),
            [text(target.bucket.as_str()), text(target.name.as_str())],
        );
        let rows = self.call.storage.database().run(&self.call.scope(), statement).await?;
        let found =
            rows.first().and_then(|row| Some(Found { document: json_column(row, 0)?, version: column(row, 1) }));
        found.ok_or_else(|| Error::no_such_key(&target.name))
    }

    fn conditions(&self) -> Conditions<'_> {
        Conditions {
            matching: self.call.header("if-match"),
            none_match: self.call.header("if-none-match"),
            modified_since: self.call.header("if-modified-since"),
            unmodified_since: self.call.header("if-unmodified-since"),
        }
    }

    pub(super) async fn get_object(self) -> Result<S3Answer, Error> {
        let mut attempt = 1;
        loop {
            match self.try_get().await {
                // The file of a version is deleted after the row has another one: the row is read again.
                Ok(None) if attempt < ATTEMPTS => attempt += 1,
                Ok(None) => return Err(Error::from(BackendError::NotFound)),
                Ok(Some(answer)) => return Ok(answer),
                Err(error) => return Err(error),
            }
        }
    }

    async fn try_get(&self) -> Result<Option<S3Answer>, Error> {
        let found = self.find_object(&self.target).await?;
        match self.conditions().evaluate(&found) {
            Verdict::Go => {}
            Verdict::NotModified => return Ok(Some(describe(S3Answer::new(StatusCode::NOT_MODIFIED), &found))),
            Verdict::Failed => return Err(precondition_failed()),
        }
        let (backend, file) = (self.call.storage.backend(), found.file(&self.target));
        let size = match found.size() {
            Some(size) => size,
            None => backend.head(&file).await?.size,
        };
        let is_current = range::is_current(self.call.header("if-range"), found.etag(), found.last_modified());
        let range = self.call.header("range").filter(|_| is_current);
        let bytes = range.map(|header| range::parse(header, size)).transpose()?;
        let (facts, content) = match backend.get(&file, bytes.clone()).await {
            Ok(read) => read,
            Err(BackendError::NotFound) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let status = if bytes.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
        let length = bytes.as_ref().map_or(facts.size, |bytes| bytes.end - bytes.start);
        let answer = S3Answer::new(status).with("content-type", DEFAULT_TYPE);
        let mut answer = describe(answer, &found).with("content-length", &length.to_string());
        if let Some(bytes) = &bytes {
            answer = answer.with("content-range", &range::content_range(bytes, size));
        }
        for (parameter, header) in [
            ("response-content-disposition", "content-disposition"),
            ("response-content-type", "content-type"),
            ("response-cache-control", "cache-control"),
            ("response-content-encoding", "content-encoding"),
            ("response-content-language", "content-language"),
        ] {
            if let Some(value) = self.call.query.get(parameter).filter(|value| !value.is_empty()) {
                answer = answer.with(header, value);
            }
        }
        if let Some(expires) = self.call.query.get("response-expires").filter(|value| !value.is_empty()) {
            let time = DateTime::parse_from_rfc2822(expires).or_else(|_| DateTime::parse_from_rfc3339(expires));
            let time = time.map_err(|_| Error::invalid_parameter("response-expires"))?;
            answer = answer.with("expires", &http_date(time.to_utc()));
        }
        Ok(Some(answer.with_body(Body::from_stream(content))))
    }

    pub(super) async fn head_object(self) -> Result<S3Answer, Error> {
        let found = self.find_object(&self.target).await?;
        match self.conditions().evaluate(&found) {
            Verdict::Go => {}
            Verdict::NotModified => return Ok(describe(S3Answer::new(StatusCode::NOT_MODIFIED), &found)),
            Verdict::Failed => return Err(precondition_failed()),
        }
        let size = found.size().unwrap_or_default().to_string();
        let mut answer = describe(S3Answer::new(StatusCode::OK), &found).with("content-length", &size);
        if let Some(time) = found.created_at() {
            answer = answer.with(
                "created-at",
                &time.format("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)").to_string(),
            );
        }
        Ok(answer)
    }

    pub(super) async fn object_tagging(self) -> Result<S3Answer, Error> {
        self.find_object(&self.target).await?;
        Ok(S3Answer::document(&Element::new("Tagging", vec![Element::new("TagSet", vec![])])))
    }

    pub(super) async fn copy_object(self) -> Result<S3Answer, Error> {
        let source = parse_copy_source(self.call.header("x-amz-copy-source").unwrap_or_default())?;
        self.check_copy_conditions(&source).await?;
        let copies_metadata = self.call.header("x-amz-metadata-directive") != Some("REPLACE");
        let mut metadata = Map::new();
        for (header, member) in [("content-type", "mimetype"), ("cache-control", "cacheControl")] {
            if let Some(value) = self.call.filled_header(header) {
                metadata.insert(member.to_owned(), value.into());
            }
        }
        let user_metadata = self.user_metadata();
        let order = CopyOrder {
            source,
            destination: self.target,
            copies_metadata,
            keeps_unspecified: false,
            metadata,
            user_metadata,
            replaces: true,
        };
        let copied = copy_object(self.call, order).await?;
        let member = |name: &str| copied["metadata"][name].as_str().unwrap_or_default().to_owned();
        Ok(S3Answer::document(&Element::new(
            "CopyObjectResult",
            vec![Element::text("ETag", member("eTag")), Element::text("LastModified", member("lastModified"))],
        )))
    }

    /// Checks the conditions on the source of a copy.
    pub(super) async fn check_copy_conditions(&self, source: &Target) -> Result<Option<Found>, Error> {
        let header = |name: &str| self.call.filled_header(name);
        let conditions = Conditions {
            matching: header("x-amz-copy-source-if-match"),
            none_match: header("x-amz-copy-source-if-none-match"),
            modified_since: header("x-amz-copy-source-if-modified-since"),
            unmodified_since: header("x-amz-copy-source-if-unmodified-since"),
        };
        let is_conditional = conditions.matching.is_some()
            || conditions.none_match.is_some()
            || conditions.modified_since.is_some()
            || conditions.unmodified_since.is_some();
        if !is_conditional {
            return Ok(None);
        }
        let found = self.find_object(source).await?;
        if conditions.evaluate(&found) == Verdict::Go { Ok(Some(found)) } else { Err(precondition_failed()) }
    }

    pub(super) async fn delete_object(self) -> Result<S3Answer, Error> {
        let bucket = self.target.bucket.clone();
        let (scope, storage) = (self.call.service_scope(), std::sync::Arc::clone(&self.call.storage));
        match remove_object(self.call, self.target).await {
            Ok(()) => {}
            Err(error) if error.code == Code::NoSuchKey => {
                let statement = sql("SELECT id FROM storage.buckets WHERE id = $1", [text(bucket.as_str())]);
                if storage.database().run(&scope, statement).await?.is_empty() {
                    return Err(Error::no_such_bucket(&bucket));
                }
            }
            Err(error) => return Err(error),
        }
        Ok(S3Answer::new(StatusCode::NO_CONTENT))
    }

    pub(super) async fn delete_objects(self, body: Body) -> Result<S3Answer, Error> {
        let document = read_document(&self.call.parts.headers, body).await?;
        let document = parse_document(&document)?;
        let root = document.root_element();
        if root.tag_name().name() != "Delete" {
            return Err(Error::invalid_request("Body must have required property 'Delete'"));
        }
        let names: Vec<String> = children(root, "Object")
            .map(|object| child_text(object, "Key").map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| Error::invalid_request("Body, Delete, Object, 0 must have required property 'Key'"))?;
        if names.is_empty() {
            return Err(Error::invalid_request("Body, Delete must have required property 'Object'"));
        }
        if names.len() > MAXIMUM_NAMES {
            let message = "Bulk object requests are limited to 1000 objects per request.";
            return Err(Error::invalid_request(message));
        }
        let is_quiet = child_text(root, "Quiet") == Some("true");
        self.find_bucket().await?;
        let (service, storage) = (self.call.service_scope(), std::sync::Arc::clone(&self.call.storage));
        let bucket = self.target.bucket.clone();
        let deleted = remove_objects(self.call, bucket.clone(), names.clone()).await?;
        let deleted: BTreeSet<&str> = deleted.iter().filter_map(|object| object["name"].as_str()).collect();
        let left = names.iter().map(String::as_str).filter(|name| !deleted.contains(name) && !name.contains('\0'));
        let statement = sql(
            "SELECT name FROM storage.objects WHERE bucket_id = $1 AND name = ANY($2::text[])",
            [text(bucket), array(left)],
        );
        let rows = storage.database().run(&service, statement).await?;
        let remaining: BTreeSet<String> = rows.iter().filter_map(|row| column(row, 0)).collect();
        let (mut results, mut errors) = (Vec::new(), Vec::new());
        for name in &names {
            let key = Element::text("Key", name.as_str());
            if remaining.contains(name) {
                let code = Element::text("Code", "AccessDenied");
                errors.push(Element::new("Error", vec![key, code, Element::text("Message", "Access Denied")]));
            } else if !is_quiet {
                results.push(Element::new("Deleted", vec![key]));
            }
        }
        results.append(&mut errors);
        Ok(S3Answer::document(&Element::new("DeleteResult", results)))
    }
}

/// The header fields of an object.
fn describe(mut answer: S3Answer, found: &Found) -> S3Answer {
    let member = |name: &str| found.document["metadata"][name].as_str().filter(|value| !value.is_empty());
    for (header, value) in [
        ("cache-control", member("cacheControl")),
        ("content-type", member("mimetype")),
        ("etag", member("eTag")),
        ("expires", member("expires")),
    ] {
        if let Some(value) = value {
            answer = answer.with(header, value);
        }
    }
    if let Some(time) = found.last_modified() {
        answer = answer.with("last-modified", &http_date(time));
    }
    let mut missing = 0;
    if let Value::Object(members) = &found.document["user_metadata"] {
        for (name, value) in members {
            match value.as_str().and_then(|value| Some((metadata_field(name, value)?, value))) {
                Some((field, value)) => answer = answer.with(&field, value),
                None => missing += 1,
            }
        }
    }
    if missing > 0 {
        answer = answer.with("x-amz-missing-meta", &missing.to_string());
    }
    answer
}

/// The name of the header field of user metadata; `None` if no field can have this name and value.
fn metadata_field(name: &str, value: &str) -> Option<String> {
    let field = format!("x-amz-meta-{}", name.to_ascii_lowercase());
    let can_send = !name.is_empty()
        && value.len() <= MAXIMUM_METADATA_VALUE
        && value.is_ascii()
        && header_value(value).is_some()
        && HeaderName::from_bytes(field.as_bytes()).is_ok();
    can_send.then_some(field)
}
