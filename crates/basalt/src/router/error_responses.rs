//! Error responses of the router, in the wording of Supabase's gateway where it has one.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

#[derive(Serialize)]
struct ErrorBody<'a> {
    message: &'a str,
    hint: &'a str,
}

/// The request carries no API key.
pub(super) fn missing_api_key() -> Response {
    let hint = "No `apikey` request header or url param was found. `basalt status` prints the keys.";
    json(StatusCode::UNAUTHORIZED, "No API key found in request", hint)
}

/// A page sends the secret key, which everybody who opens it can read.
pub(super) fn secret_key_in_browser() -> Response {
    let hint = "Everybody who opens the page has the key. End it now (`basalt keys --help`), use the publishable key in \
                pages, and secret keys on servers alone.";
    json(StatusCode::UNAUTHORIZED, "Forbidden use of secret API key in browser", hint)
}

/// The request is for the description of the data API, without a secret key.
pub(super) fn hidden_description() -> Response {
    let hint = "Accessing the schema via the Data API is only allowed using a secret API key.";
    json(StatusCode::FORBIDDEN, "Access to schema is forbidden", hint)
}

/// The request carries an API key that is not valid for this project.
pub(super) fn invalid_api_key() -> Response {
    let hint = "It is not a key of this project, nor a token it signed. `basalt status` prints the keys.";
    json(StatusCode::UNAUTHORIZED, "Invalid API key", hint)
}

/// The token was issued to an OAuth client, whose user granted no scope for the service.
pub(super) fn insufficient_scope(scope: &str) -> Response {
    let hint = format!("Let the client request the scope `{scope}`, which its user then grants.");
    json(StatusCode::FORBIDDEN, "The token does not open this service", &hint)
}

pub(super) fn no_access_token() -> Response {
    let hint = "An ID token tells a client who the user is. Send the access token instead.";
    json(StatusCode::UNAUTHORIZED, "The token is no access token", hint)
}

/// The session of the token has ended, or its user is deleted or banned.
pub(super) fn ended_session() -> Response {
    json(StatusCode::UNAUTHORIZED, "The session of the token has ended", "Sign in again.")
}

/// The database does not answer.
pub(super) fn database_unavailable() -> Response {
    json(StatusCode::SERVICE_UNAVAILABLE, "The database does not answer", "Try again in a moment.")
}

/// The path belongs to a service of Supabase that Basalt does not have.
pub(super) fn not_served(mount: &str, what: &str) -> Response {
    let message = format!("Basalt does not serve {mount} ({what})");
    let hint = "Served here are /auth/v1, /functions/v1 and, unless the configuration switches them off, /rest/v1 and /storage/v1. [basalt.upstreams] in config.toml forwards the rest to services that you run.";
    json(StatusCode::NOT_FOUND, &message, hint)
}

/// The request has more than one `Authorization`, or one that is not ASCII.
pub(super) fn ambiguous_authorization() -> Response {
    json(StatusCode::BAD_REQUEST, "The header Authorization is ambiguous", "Send it once, as `Bearer <token>`.")
}

/// While the keys are published, a request is for a host that is not this machine.
pub(super) fn foreign_host() -> Response {
    let hint = "Everybody has the demo keys. Send requests to http://localhost or http://127.0.0.1, or leave out the demo \
                keys.";
    json(StatusCode::FORBIDDEN, "With the demo keys this server answers at names of this machine only", hint)
}

/// While the keys are published, a page of another site sends more than the public key.
pub(super) fn foreign_page() -> Response {
    let hint = "Everybody has the demo keys, so pages of other sites may use the publishable one only, and neither S3 nor \
                WebSockets. Open the page at http://localhost or http://127.0.0.1, add its address to \
                [auth] additional_redirect_urls, or leave out the demo keys.";
    json(StatusCode::FORBIDDEN, "The demo keys are not for pages of other sites", hint)
}

/// A handler failed unexpectedly.
pub(super) fn internal_error() -> Response {
    json(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", "The server's log says more.")
}

fn json(status: StatusCode, message: &str, hint: &str) -> Response {
    let body = serde_json::to_vec(&ErrorBody { message, hint }).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
