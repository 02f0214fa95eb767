//! Replies of handlers, and the conversion of errors into response bodies.

use axum::body::Body;
use axum::response::Response;
use foundation::error::Error;
use gotrue_rules::wire::error::{ApiVersion, render};
use gotrue_rules::wire::go_json;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;

/// The reply of a handler.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    /// A reply without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Vec::new() }
    }

    /// 200 with a JSON body.
    pub fn json(body: &impl Serialize) -> Self {
        match go_json::to_vec(body) {
            Ok(body) => Self::json_bytes(body),
            Err(cause) => Self::from_error(&Error::other(cause), ApiVersion::Initial, ""),
        }
    }

    /// 200 with a body that is serialized JSON.
    pub fn json_bytes(body: impl Into<Vec<u8>>) -> Self {
        Self::empty(StatusCode::OK).with_body("application/json", body.into())
    }

    /// 200 with an XML body.
    pub fn xml(body: String) -> Self {
        Self::empty(StatusCode::OK).with_body("application/xml", body.into_bytes())
    }

    /// 204 without a body.
    pub fn no_content() -> Self {
        Self::empty(StatusCode::NO_CONTENT)
    }

    /// 302 to a location, with a small HTML page for clients that do not follow redirects.
    pub fn found(location: &str) -> Self {
        Self::see_other(location).with_status(StatusCode::FOUND)
    }

    /// 303 to a location, with a small HTML page for clients that do not follow redirects.
    pub fn see_other(location: &str) -> Self {
        Self::empty(StatusCode::SEE_OTHER)
            .with_header(LOCATION, location)
            .with_body("text/html; charset=utf-8", b"<p>This page has moved.</p>\n".to_vec())
    }

    /// 302 to a location without a body: the response to a POST.
    pub fn found_without_body(location: &str) -> Self {
        Self::empty(StatusCode::FOUND).with_header(LOCATION, location)
    }

    /// Replaces the body with an error body; as in GoTrue its content type is `text/plain`.
    #[must_use]
    pub fn with_error_body(self, error: &Error, version: ApiVersion, request_id: &str) -> Self {
        self.with_body("text/plain; charset=utf-8", render(error, version, request_id).body.into_bytes())
    }

    /// The body and headers of an error in the given API version.
    pub fn from_error(error: &Error, version: ApiVersion, request_id: &str) -> Self {
        let rendered = render(error, version, request_id);
        let status = StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut reply = Self::empty(status).with_body("application/json", rendered.body.into_bytes());
        // The status of a hook's error may be one whose responses have no content (RFC 9110 §6.4.1).
        if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            reply.body.clear();
        }
        if status == StatusCode::NOT_MODIFIED {
            reply.headers.remove(CONTENT_TYPE);
        }
        if let Some(seconds) = error.retry_after {
            reply = reply.with_header(RETRY_AFTER, &seconds.to_string());
        }
        rendered
            .headers
            .into_iter()
            .fold(reply, |reply, (name, value)| reply.with_header(HeaderName::from_static(name), value))
    }

    /// The response to an unknown path.
    pub fn page_not_found() -> Self {
        Self::empty(StatusCode::NOT_FOUND).with_body("text/plain; charset=utf-8", b"404 page not found\n".to_vec())
    }

    /// Replaces the status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Replaces a header. An invalid header value is ignored.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Allows caches to keep the response for ten minutes.
    #[must_use]
    pub fn with_public_cache(self) -> Self {
        self.with_header(CACHE_CONTROL, "public, max-age=600")
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Converts the reply to an axum response.
    pub fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    fn with_body(mut self, content_type: &'static str, body: Vec<u8>) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.body = body;
        self
    }
}
