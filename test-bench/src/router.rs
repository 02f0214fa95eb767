//! Routes the requests of a test server: to the test API, or to the world whose URL they have.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::Uri;
use http::uri::PathAndQuery;

use crate::api::{TEST_API_PATH, TestApi};
use crate::worlds::{DEFAULT_WORLD, WORLD_PATH, Worlds};

/// The path of the metadata of an OAuth server whose URL has a path, which follows (RFC 8414 §3.1).
const OAUTH_METADATA: &str = "/.well-known/oauth-authorization-server";

/// Routes requests.
#[derive(Clone)]
pub struct TestRouter {
    worlds: Worlds,
    api: TestApi,
}

impl TestRouter {
    /// Creates the router of these worlds and of their API.
    pub fn new(worlds: Worlds, api: TestApi) -> Self {
        Self { worlds, api }
    }

    /// Answers a request.
    pub async fn answer(&self, mut request: Request) -> Response {
        let path = request.uri().path();
        if path.strip_prefix(TEST_API_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return self.api.answer(request).await;
        }
        let (id, path) = match split_world(path) {
            Some((id, path)) => (id.to_owned(), Some(path)),
            None => (DEFAULT_WORLD.to_owned(), None),
        };
        if let Some(path) = path {
            *request.uri_mut() = with_path(request.uri(), &path);
        }
        let answered = match self.worlds.find(&id) {
            Ok(world) => world.answer(request).await,
            Err(error) => Err(error),
        };
        answered.unwrap_or_else(|error| error.to_response().map(Body::new))
    }
}

/// Returns the id of the world and the path below its URL; `None` for the server's own URL.
fn split_world(path: &str) -> Option<(&str, String)> {
    if let Some(rest) = path.strip_prefix(OAUTH_METADATA).and_then(|rest| rest.strip_prefix(WORLD_PATH)) {
        let (id, issuer_path) = rest.split_once('/').unwrap_or((rest, ""));
        // The issuer is the auth API, or the world's URL itself.
        return matches!(issuer_path, "" | "auth/v1").then(|| (id, OAUTH_METADATA.to_owned()));
    }
    let rest = path.strip_prefix(WORLD_PATH)?;
    let (id, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Some((id, if below.is_empty() { "/".to_owned() } else { below.to_owned() }))
}

/// Returns the target with another path and the same query.
fn with_path(uri: &Uri, path: &str) -> Uri {
    let target = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    PathAndQuery::try_from(target).map(Uri::from).unwrap_or_default()
}
