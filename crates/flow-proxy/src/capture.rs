//! A request and its response, as they passed.

use http::HeaderMap;

/// The path of the auth API in projects.
pub const AUTH_PATH: &str = "/auth/v1";
pub const FUNCTIONS_PATH: &str = "/functions/v1";
/// The path of the data API in projects.
pub const REST_PATH: &str = "/rest/v1";
/// The path of the storage API in projects.
pub const STORAGE_PATH: &str = "/storage/v1";
/// The path of the S3 protocol below the storage API.
const S3_PATH: &str = "/s3";
/// The header by which a client names the flow of a request.
pub const FLOW_HEADER: &str = "x-flow-name";

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// The auth API.
    Auth,
    Functions,
    /// The data API.
    Rest,
    /// The storage API, without its S3 protocol.
    Storage,
}

/// A body, unless it is too large for a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum CapturedBody {
    /// The whole body.
    Whole(Vec<u8>),
    /// Its size; the content was passed on and not kept.
    TooLarge(u64),
}

impl Default for CapturedBody {
    fn default() -> Self {
        Self::Whole(Vec::new())
    }
}

/// A request and its response.
#[derive(Debug, Clone)]
pub struct Capture {
    pub method: String,
    /// Path and query below the API.
    pub path: String,
    pub api: Api,
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The body of the request.
    pub body: CapturedBody,
    /// The status of the response.
    pub status: u16,
    pub response_headers: HeaderMap,
    pub response_body: CapturedBody,
    /// When the request arrived, in seconds.
    pub at: f64,
    /// The address of the client, to separate flows.
    pub client: String,
}

/// Returns whether a path below the storage API is one of the S3 protocol.
///
/// Its signatures belong to the time and the keys of a request, so that it cannot be replayed.
pub fn is_s3_path(path: &str) -> bool {
    path.strip_prefix(S3_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}
