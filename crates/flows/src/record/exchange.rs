//! A request and its response, as the proxy saw them or as a HAR file has them.

use std::sync::OnceLock;

pub use flow_proxy::CapturedBody as RecordedBody;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http_edge::request::{BearerWhitespace, single_header};
use serde_json::Value;

use crate::format::Service;
use crate::runner::ResponseParts;
use crate::text::{parse_pairs, split_url};

/// The JSON of the bodies, parsed once.
#[derive(Debug, Clone, Default)]
pub struct ParsedBodies {
    request: OnceLock<Value>,
    response: OnceLock<Value>,
}

/// A request and its response.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    pub method: String,
    /// Path and query below the API.
    pub path: String,
    /// The API.
    pub service: Service,
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The body of the request.
    pub body: RecordedBody,
    /// The status of the response.
    pub status: u16,
    pub response_headers: HeaderMap,
    pub response_body: RecordedBody,
    /// When the request arrived, in seconds.
    pub at: f64,
    /// The address of the client, to separate flows.
    pub client: String,
    /// The JSON of the bodies.
    pub parsed: ParsedBodies,
}

impl Exchange {
    /// Returns a header of the request.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the access token of the request.
    pub(super) fn bearer(&self) -> Option<&str> {
        single_header(&self.headers, &AUTHORIZATION).bearer(BearerWhitespace::Trimmed).present()
    }

    /// Returns the path without query.
    pub(super) fn route(&self) -> &str {
        split_url(&self.path).base
    }

    /// Returns a parameter of the query.
    pub(super) fn query(&self, name: &str) -> Option<String> {
        parse_pairs(split_url(&self.path).query).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns the JSON of the request, null if there is none.
    pub(super) fn json(&self) -> &Value {
        self.parsed.request.get_or_init(|| parse(&self.body))
    }

    /// Returns the JSON of the response, null if there is none.
    pub(super) fn response_json(&self) -> &Value {
        self.parsed.response.get_or_init(|| parse(&self.response_body))
    }

    /// Returns whether the server did what was wanted.
    pub(super) fn is_success(&self) -> bool {
        if self.status >= 400 {
            return false;
        }
        // Redirects carry errors to applications.
        let location = self.location().unwrap_or_default();
        let parts = split_url(&location);
        let pairs = parse_pairs(parts.query).into_iter().chain(parse_pairs(parts.fragment));
        !pairs.into_iter().any(|(name, _)| name == "error" || name == "error_code")
    }

    /// Returns where the response redirects to.
    pub(super) fn location(&self) -> Option<String> {
        self.response_headers.get("location").and_then(|value| value.to_str().ok()).map(str::to_owned)
    }

    /// Returns the response for the symbols.
    pub(super) fn response(&self) -> ResponseParts<'_> {
        let body = match &self.response_body {
            RecordedBody::Whole(bytes) => bytes.as_slice(),
            RecordedBody::TooLarge(_) => &[],
        };
        ResponseParts {
            status: self.status,
            headers: &self.response_headers,
            body,
            json: self.response_json(),
            service: self.service,
        }
    }
}

fn parse(body: &RecordedBody) -> Value {
    match body {
        RecordedBody::Whole(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        RecordedBody::TooLarge(_) => Value::Null,
    }
}
