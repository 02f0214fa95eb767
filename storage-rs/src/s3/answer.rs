//! Responses: XML, and the statuses of errors as they are.

use axum::body::Body;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use super::xml::Element;
use crate::error::Error;
use crate::response::{header_value, with_refusal, with_retry_after};

const XML: HeaderValue = HeaderValue::from_static("application/xml; charset=utf-8");

/// A response in the making.
pub(super) struct S3Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

impl S3Answer {
    /// A response without a body.
    pub(super) fn new(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Body::empty() }
    }

    /// A response 200 with a document.
    pub(super) fn document(root: &Element) -> Self {
        let mut answer = Self::new(StatusCode::OK);
        let document = root.to_document();
        answer.headers.insert(CONTENT_TYPE, XML);
        answer.headers.insert(CONTENT_LENGTH, HeaderValue::from(document.len()));
        answer.body = Body::from(document);
        answer
    }

    /// The response with a header field. A text that none can have is left out.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        if let (Ok(name), Some(value)) = (HeaderName::from_bytes(name.as_bytes()), header_value(value)) {
            self.headers.insert(name, value);
        }
        self
    }

    /// The response with a body.
    pub(super) fn with_body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Bucket and name as errors have them: the path without empty segments.
pub(super) fn resource(rest: &str) -> String {
    rest.split('/').filter(|segment| !segment.is_empty()).collect::<Vec<_>>().join("/")
}

/// The response to a request that failed.
pub(super) fn failure(error: &Error, resource: String) -> Response<Body> {
    error.log();
    let root = Element::new(
        "Error",
        vec![
            Element::text("Resource", resource),
            Element::text("Code", error.code.name()),
            Element::text("Message", error.message.clone()),
        ],
    );
    let mut answer = S3Answer::document(&root);
    answer.status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_refusal(with_retry_after(answer.into_response(), error.retry_after), error.refusal.as_ref())
}
