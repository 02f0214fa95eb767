//! Extractors of the calls, and the answer to what is no call.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::Method;
use http::request::Parts;
use messages::api::MessagesApi;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use super::state::{ApiState, TEST_API_PATH};
use crate::TestApiError;
use crate::worlds::{World, parse};

/// What is encoded in a segment of a path: all but unreserved characters (RFC 3986 §2.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The decoded segments of a request's path below that of the API; an extension of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallPath(Arc<[String]>);

impl CallPath {
    /// Decodes a path, segment by segment: an encoded slash separates nothing.
    pub(super) fn decode(path: &str) -> Self {
        let decode = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
        Self(path.split('/').skip(1).map(decode).collect())
    }

    /// Returns the path in the one encoding that the router compares.
    pub(super) fn encode(&self) -> String {
        if self.0.is_empty() {
            return "/".to_owned();
        }
        self.0.iter().flat_map(|segment| ["/".to_owned(), utf8_percent_encode(segment, SEGMENT).to_string()]).collect()
    }

    /// Returns the path of a request.
    fn of(parts: &Parts) -> Self {
        parts.extensions.get::<Self>().cloned().unwrap_or_else(|| Self::decode(parts.uri.path()))
    }

    fn segments(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

/// The part of a path that names a world.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct WorldPath {
    /// The id of a world; `default` is the server itself.
    id: String,
}

/// The world that the path names. Calls of an unknown one are answered with 404.
pub(super) struct InWorld(pub(super) Arc<World>);

impl FromRequestParts<ApiState> for InWorld {
    type Rejection = TestApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, TestApiError> {
        let Path(WorldPath { id }) = Path::from_request_parts(parts, state)
            .await
            .map_err(|rejection| TestApiError::internal("reading the path of a call", &rejection))?;
        state.worlds.find(&id).map(Self)
    }
}

/// A body of JSON; an empty one is an empty object.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned + Default> FromRequest<ApiState> for Json<T> {
    type Rejection = TestApiError;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, TestApiError> {
        let body = Bytes::from_request(request, state)
            .await
            .map_err(|rejection| TestApiError::internal("reading the body of a call", &rejection))?;
        parse(&body).map(Self)
    }
}

/// A call of the message API of a world.
pub(super) struct MessageCall {
    messages: MessagesApi,
    method: Method,
    /// The path below that of the messages.
    path: String,
    query: String,
}

impl FromRequestParts<ApiState> for MessageCall {
    type Rejection = TestApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, TestApiError> {
        let InWorld(world) = InWorld::from_request_parts(parts, state).await?;
        Self::open(&world, parts).await
    }
}

impl MessageCall {
    /// Takes the messages of the world. A call that waits for one does not keep the world from being changed.
    async fn open(world: &World, parts: &Parts) -> Result<Self, TestApiError> {
        let messages = {
            let state = world.enter().await?;
            let backend = state.backend.as_ref().ok_or_else(|| world.gone())?;
            MessagesApi::new(backend.messages.clone())
        };
        world.touch();
        let path = CallPath::of(parts).segments().get(3..).unwrap_or_default().join("/");
        let query = parts.uri.query().unwrap_or_default().to_owned();
        Ok(Self { messages, method: parts.method.clone(), path, query })
    }

    pub(super) async fn answer(self) -> Response {
        self.messages.answer(&self.method, &self.path, &self.query).await
    }
}

/// Answers a method or a path that no call has: 404.
///
/// An unknown world is named first. What is below the messages of a world is answered by their API, which names its
/// parts and methods.
pub(super) async fn unknown_call(State(state): State<ApiState>, request: Request) -> Result<Response, TestApiError> {
    let (parts, _) = request.into_parts();
    let path = CallPath::of(&parts);
    let segments = path.segments();
    if let ["worlds", id, rest @ ..] = &*segments {
        let world = state.worlds.find(id)?;
        if rest.first() == Some(&"messages") {
            return Ok(MessageCall::open(&world, &parts).await?.answer().await);
        }
    }
    Err(TestApiError::not_found(
        format!("{} {TEST_API_PATH}/{} is not a call of the test API", parts.method, segments.join("/")),
        "docs/testing lists the calls",
    ))
}

impl IntoResponse for TestApiError {
    fn into_response(self) -> Response {
        self.to_response().map(axum::body::Body::new)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn path_has_one_encoding() {
        for (path, segments, encoded) in [
            ("", &[][..], "/"),
            ("/", &[""], "/"),
            ("/worlds", &["worlds"], "/worlds"),
            ("/w%6Frlds/a%2Fb%20c/", &["worlds", "a/b c", ""], "/worlds/a%2Fb%20c/"),
            ("/worlds//clock", &["worlds", "", "clock"], "/worlds//clock"),
            ("/%E9%25%7B", &["\u{fffd}%{"], "/%EF%BF%BD%25%7B"),
            ("/a+b!~", &["a+b!~"], "/a%2Bb%21~"),
        ] {
            let decoded = CallPath::decode(path);
            assert_eq!((decoded.segments(), &*decoded.encode()), (segments.to_vec(), encoded), "{path}");
        }
    }

    proptest! {
        #[test]
        fn encoded_path_is_decoded_to_the_same_segments(path in "(/[a-z%/0-9\\PC]{0,12}){1,4}") {
            let decoded = CallPath::decode(&path);
            prop_assert_eq!(CallPath::decode(&decoded.encode()), decoded);
        }
    }
}
