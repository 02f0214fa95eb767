//! What the calls of the API share.

use std::sync::Arc;

use crate::worlds::Worlds;

/// The path of the API at the server's URL.
pub const TEST_API_PATH: &str = "/_test";

/// What the calls use.
#[derive(Clone)]
pub(super) struct ApiState {
    pub(super) worlds: Worlds,
    /// The bearer token of all calls.
    pub(super) key: Arc<str>,
    /// The `OpenAPI` document, as JSON.
    pub(super) document: Arc<str>,
}
