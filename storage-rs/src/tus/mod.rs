//! Resumable uploads: TUS 1.0.0 with creation, creation with upload and with a length that is not known, termination and
//! expiration (<https://tus.io/protocols/resumable-upload>).
//!
//! The id of an upload becomes the version of the object. Its content grows in the staging of the backend; when it is
//! complete it becomes a file, and then the row is written. A request that finds a complete upload without a row writes it.

mod create;
mod location;
pub(crate) mod lock;
mod metadata;
mod problem;
mod progress;
mod upload;

use std::sync::Arc;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use self::location::{Base, UploadId};
use self::metadata::UploadMetadata;
use self::problem::TusProblem;
use crate::caller::{Caller, signed_url};
use crate::error::Error;
use crate::request::{Call, Query};
use crate::response::{self, with_refusal};
use crate::service::Storage;

/// The version of the protocol.
const VERSION: HeaderValue = HeaderValue::from_static("1.0.0");
const EXTENSIONS: &str = "creation,creation-with-upload,creation-defer-length,termination,expiration";
const TEXT: HeaderValue = HeaderValue::from_static("text/plain;charset=UTF-8");
/// The type of a body with a part of an upload.
const PART_TYPE: &str = "application/offset+octet-stream";
const METHODS: &str = "POST, HEAD, PATCH, OPTIONS, DELETE";
const EXPOSED_HEADERS: &str = "Authorization, Content-Type, Location, Tus-Extension, Tus-Max-Size, Tus-Resumable, \
    Tus-Version, Upload-Concat, Upload-Defer-Length, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, \
    X-Requested-With, X-Forwarded-Host, X-Forwarded-Proto, Forwarded";
const MORE_ALLOWED_HEADERS: &str = "Authorization, X-Upsert, Upload-Expires, ApiKey, x-signature";

/// A response in the making: fields and a status.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
}

impl Answer {
    fn new(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new() }
    }

    fn set(&mut self, name: &'static str, value: &str) {
        if let Some(value) = response::header_value(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// Whether the value of a header field has the form that the protocol demands.
type HeaderCheck = fn(&str) -> bool;

/// A request to an upload.
struct Request {
    call: Call,
    /// Whether the path is that of signed uploads.
    is_signed: bool,
    /// What the token of a signed upload says, once it was verified.
    grant: Option<Grant>,
}

/// The right to write one object, from a token.
struct Grant {
    owner: Option<String>,
    is_upsert: bool,
}

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
    let (status, mut headers, text, refusal) = match answer {
        Ok(answer) => (answer.status, answer.headers, String::new(), None),
        Err(problem) => {
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, HeaderMap::new(), problem.text, problem.refusal)
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
    with_refusal(response, refusal.as_ref())
}

/// Whether a number has the one form that is valid.
fn is_number(text: &str) -> bool {
    parse_number(text).is_some_and(|number| number.to_string() == text)
}

/// A number up to the greatest one that JavaScript can count to.
fn parse_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| *number < 1 << 53)
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.call.header(name)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.header(name).and_then(parse_number)
    }

    fn storage(&self) -> &Storage {
        &self.call.storage
    }

    /// Whether the body is a part of an upload.
    fn has_part(&self) -> bool {
        self.header("content-type") == Some(PART_TYPE)
    }

    /// Checks the form of the header fields of the protocol.
    fn check_headers(&self) -> Result<(), TusProblem> {
        if self.header("tus-resumable").is_none_or(str::is_empty) {
            return Err(TusProblem::version_required());
        }
        let checks: [(&str, HeaderCheck); 9] = [
            ("content-type", |value| value == PART_TYPE),
            ("tus-resumable", |value| value == "1.0.0"),
            ("tus-version", |value| value == "1.0.0"),
            ("upload-concat", |value| value == "partial" || value.starts_with("final;")),
            ("upload-defer-length", |value| value == "1"),
            ("upload-length", is_number),
            ("upload-metadata", |value| UploadMetadata::parse(value).is_some()),
            ("upload-offset", is_number),
            ("x-forwarded-proto", |value| matches!(value, "http" | "https")),
        ];
        let invalid: Vec<&str> = checks
            .iter()
            .filter(|(name, _)| *name != "content-type" || self.call.parts.method == Method::PATCH)
            .filter(|(name, is_valid)| {
                let values = self.call.parts.headers.get_all(*name).iter();
                let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
                !values.is_empty() && !is_valid(&values.join(", "))
            })
            .map(|(name, _)| *name)
            .collect();
        if invalid.is_empty() { Ok(()) } else { Err(TusProblem::invalid_headers(&invalid)) }
    }

    async fn dispatch(mut self, body: Body, segment: &str) -> Result<Answer, TusProblem> {
        match self.call.parts.method.as_str() {
            "POST" => self.create(body).await,
            "PATCH" => self.append(body, segment).await,
            "HEAD" => self.report(segment).await,
            "DELETE" => self.terminate(segment).await,
            _ => Err(TusProblem::no_route()),
        }
    }

    /// Verifies the token of a signed upload.
    fn verify_signature(&mut self, id: &UploadId) -> Result<(), TusProblem> {
        let Some(token) = self.header("x-signature").filter(|token| !token.is_empty()) else {
            return Err(Error::invalid_signature("Missing x-signature header").into());
        };
        let (object, now) = (format!("{}/{}", id.bucket, id.name), self.storage().now().timestamp());
        let keys = self.storage().keys();
        let claims = signed_url::verify(&keys, token, signed_url::Scope::Upload, &object, now)?;
        self.grant = Some(Grant {
            owner: claims.get("owner").and_then(|owner| owner.as_str()).map(str::to_owned),
            is_upsert: claims.get("upsert").and_then(serde_json::Value::as_bool).unwrap_or_default(),
        });
        Ok(())
    }

    fn owner(&self) -> Option<&str> {
        match &self.grant {
            Some(grant) => grant.owner.as_deref(),
            None => self.call.caller.owner.as_deref(),
        }
    }

    fn is_upsert(&self) -> bool {
        self.grant.as_ref().map_or_else(|| self.call.is_upsert(), |grant| grant.is_upsert)
    }

    /// The URL of an upload.
    fn location(&self, id: &UploadId) -> String {
        let config = self.storage().config();
        let base = Base {
            headers: &self.call.parts.headers,
            public_url: config.public_url.as_deref(),
            path: &config.tus.url_path,
        };
        base.url(id, self.is_signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_form() {
        for (text, expected) in [
            ("0", true),
            ("9007199254740991", true),
            ("9007199254740992", false),
            ("01", false),
            ("+1", false),
            ("-1", false),
            ("1.0", false),
            ("", false),
        ] {
            assert_eq!(is_number(text), expected, "{text}");
        }
    }
}
