//! Error responses of the gateway: JSON with `message` and `hint`, as Supabase's gateway answers.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::service::Service;

/// Why a request was not forwarded, or its response not received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForwardError {
    /// No connection to the service.
    Unreachable,
    /// The service closed the connection or does not speak HTTP.
    InvalidResponse,
    /// No response within this time.
    Timeout(Duration),
    /// Too many concurrent requests.
    TooMany,
    /// The method is for proxies, `CONNECT` or `TRACE`.
    InvalidMethod,
    /// The path cannot be used.
    InvalidPath,
    /// The body of the request did not arrive.
    IncompleteRequest,
    /// The body of the request arrives too slowly.
    SlowRequest,
    /// The request was forwarded to this server again and again.
    Loop,
    /// The client disconnected; no client receives this.
    Disconnected,
}

impl ForwardError {
    pub(crate) fn to_response(self, service: Service) -> Response {
        let name = service.name();
        let (status, message, hint) = match self {
            Self::Unreachable => (
                StatusCode::SERVICE_UNAVAILABLE,
                format!("The service {name} cannot be reached"),
                "The server's log has the reason; [basalt.upstreams] in config.toml has the address.",
            ),
            Self::InvalidResponse | Self::Disconnected => (
                StatusCode::BAD_GATEWAY,
                format!("An invalid response was received from the service {name}"),
                "The connection ended before the response, or it is no HTTP. The log of the service says more.",
            ),
            Self::Timeout(limit) => (
                StatusCode::GATEWAY_TIMEOUT,
                format!("The service {name} did not respond within {} ms", limit.as_millis()),
                "Try again in a moment. The limit is in [basalt.upstreams] in config.toml.",
            ),
            Self::TooMany => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many concurrent requests".to_owned(),
                "Try again in a moment. The limits are max_requests and max_requests_per_network in [basalt.upstreams] in config.toml.",
            ),
            Self::InvalidMethod => (
                StatusCode::METHOD_NOT_ALLOWED,
                "The method of the request is not forwarded".to_owned(),
                "Use another method than CONNECT and TRACE.",
            ),
            Self::InvalidPath => (
                StatusCode::BAD_REQUEST,
                "The path of the request cannot be forwarded".to_owned(),
                "Encode special characters of the path and query.",
            ),
            Self::IncompleteRequest => (
                StatusCode::BAD_REQUEST,
                "The body of the request did not arrive whole".to_owned(),
                "Send the request again.",
            ),
            Self::SlowRequest => (
                StatusCode::REQUEST_TIMEOUT,
                "The body of the request arrives too slowly".to_owned(),
                "Send the request again, at 4 kB a second or faster.",
            ),
            Self::Loop => (
                StatusCode::LOOP_DETECTED,
                format!("The service {name} is this server"),
                "[basalt.upstreams] in config.toml names this server; set the address of the service.",
            ),
        };
        let mut response = build_error(status, &message, hint);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Builds an error response with `message` and `hint`.
pub fn build_error(status: StatusCode, message: &str, hint: &str) -> Response {
    let mut response = Response::new(Body::from(json!({ "message": message, "hint": hint }).to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
