//! Targets of requests that routers of this process change.

use http::uri::PathAndQuery;
use http::{Request, Uri};

/// The target of a request before a router of the same process removed the mount of a service; an extension of the request.
#[derive(Debug, Clone)]
pub struct RequestedUri(pub Uri);

/// Returns the path that the client has requested, for texts about the request.
pub fn requested_path<B>(request: &Request<B>) -> &str {
    request.extensions().get::<RequestedUri>().map_or(request.uri(), |requested| &requested.0).path()
}

/// Returns a target with this path and the query of `uri`, without a host, which only the request to a proxy has.
pub fn with_path(uri: &Uri, path: &str) -> Uri {
    let target = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    PathAndQuery::try_from(target).map(Uri::from).unwrap_or_default()
}
