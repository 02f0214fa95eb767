//! Paths of requests, compared raw.

use http::Uri;
use http_edge::request::with_path;

/// The path of the data API.
pub(super) const DATA_API: &str = "/rest/v1";
/// The path of the storage API.
pub(super) const STORAGE: &str = "/storage/v1";

/// Paths below `/auth/v1` that need no API key, with or without a trailing slash.
pub(super) const KEYLESS_PATHS: [&str; 8] = [
    "/verify",
    "/callback",
    "/authorize",
    "/health",
    "/oauth/authorize",
    "/oauth/token",
    "/oauth/userinfo",
    "/oauth/clients/register",
];

/// Prefixes of paths below `/auth/v1` that need no API key.
pub(super) const KEYLESS_PREFIXES: [&str; 2] = ["/.well-known/", "/sso/saml/"];

/// Returns whether a path of the auth API shows or decides a request of an OAuth client.
pub(super) fn is_consent_path(path: &str) -> bool {
    is_below(path, "/oauth/authorizations")
}

/// Returns whether a path is that of a mount, or below it.
pub(super) fn is_below(path: &str, mount: &str) -> bool {
    path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether a path below the mount needs no API key.
/// An ambiguous path always needs one.
pub(super) fn is_keyless_path(path: &str) -> bool {
    if path.contains('%') || path.contains("..") || path.contains("//") {
        return false;
    }
    KEYLESS_PATHS.contains(&path.strip_suffix('/').unwrap_or(path))
        || KEYLESS_PREFIXES.iter().any(|mount| path.starts_with(mount))
}

/// Returns the target without the mount and without a host, which only a proxy request has.
pub(super) fn strip_mount(uri: &Uri, mount: &str) -> Uri {
    let path = uri.path().strip_prefix(mount).filter(|rest| !rest.is_empty()).unwrap_or("/");
    with_path(uri, path)
}
