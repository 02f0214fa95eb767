//! Security headers of the desk.

use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY as CSP, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue};

/// Content Security Policy of the desk's pages: files of the own site, no inline script, no framing.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

/// Headers of pages, files and responses of the API.
const FIXED: [(HeaderName, &str); 7] = [
    (CSP, CONTENT_SECURITY_POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=(), publickey-credentials-get=(self), \
         publickey-credentials-create=(self)",
    ),
];

/// Sets the headers of a page or file of the desk.
pub fn add_file_headers(mut response: Response) -> Response {
    for (name, value) in FIXED {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Sets the headers of a response of the API, which no cache may keep.
pub fn add_api_headers(response: Response) -> Response {
    let mut response = add_file_headers(response);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
