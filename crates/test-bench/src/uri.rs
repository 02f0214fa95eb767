//! Targets of requests.

use http::Uri;
use http::uri::PathAndQuery;

/// Returns the target with another path and the same query.
pub(crate) fn with_path(uri: &Uri, path: &str) -> Uri {
    let target = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    PathAndQuery::try_from(target).map(Uri::from).unwrap_or_default()
}
