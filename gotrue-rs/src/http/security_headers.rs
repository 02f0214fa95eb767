//! Headers that keep tokens and personal data out of caches, where the policy enables them.

use axum::response::Response;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, PRAGMA, X_CONTENT_TYPE_OPTIONS};

/// The path of the endpoint whose responses must carry `Pragma` too (RFC 6749 §5.1).
const TOKEN_ENDPOINT: &str = "/oauth/token";

/// Inserts the headers for a response to `path`.
///
/// A `Cache-Control` of the handler is kept: keys, discovery documents and SAML metadata may be cached.
pub fn insert(response: &mut Response, path: &str) {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if path == TOKEN_ENDPOINT {
        headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    }
}
