//! Routes the requests of a test server: to the test API, or to the world whose URL they have.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http_edge::request::with_path;
use messages::MessageStore;

use crate::api::{TEST_API_PATH, TestApi};
use crate::worlds::{DEFAULT_WORLD, WORLD_PATH, Worlds};

/// The path of the metadata of an OAuth server whose URL has a path, which follows (RFC 8414 §3.1).
const OAUTH_METADATA: &str = "/.well-known/oauth-authorization-server";

/// The path below which backends serve the APIs of Mailpit and Inbucket.
const INBOX: &str = "/_dev/inbox";
/// The starts of the paths of these APIs.
const MAILBOX_PATHS: [&str; 4] = ["/api/v1/", "/api/v2/", "/api/events", "/view/"];

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
            Some((id, path)) => (id.to_owned(), Some(mailbox_path(&path).unwrap_or(path))),
            None => (DEFAULT_WORLD.to_owned(), None),
        };
        if let Some(path) = path {
            *request.uri_mut() = with_path(request.uri(), &path);
        }
        self.forward(&id, request).await
    }

    /// Answers a request to the port of the mail catchers' APIs, which is that of the default world.
    pub async fn answer_mailbox(&self, mut request: Request) -> Response {
        if let Some(path) = mailbox_path(request.uri().path()) {
            *request.uri_mut() = with_path(request.uri(), &path);
        }
        self.forward(DEFAULT_WORLD, request).await
    }

    /// Returns the messages of the world that the server itself is; `None` while it is being changed.
    pub fn messages(&self) -> Option<MessageStore> {
        let state = self.worlds.find(DEFAULT_WORLD).ok()?.try_enter()?;
        state.backend.as_ref().map(|backend| backend.messages.clone())
    }

    async fn forward(&self, id: &str, request: Request) -> Response {
        let answered = match self.worlds.find(id) {
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

/// Returns where a backend serves a path of the mail catchers' APIs; `None` for other paths.
fn mailbox_path(path: &str) -> Option<String> {
    let is_mailbox = MAILBOX_PATHS.iter().any(|start| path.starts_with(start));
    is_mailbox.then(|| format!("{INBOX}{path}"))
}
