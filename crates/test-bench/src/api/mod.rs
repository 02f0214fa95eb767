//! The HTTP API of the test bench: worlds and everything in them.

mod events;
mod response;
mod world_calls;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use http_edge::request::{BearerWhitespace, single_header};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use crate::TestApiError;
use crate::worlds::{NewFork, NewWorld, World, Worlds, parse};

/// The path of the API at the server's URL.
pub const TEST_API_PATH: &str = "/_test";
/// The largest body: some ten thousand users.
const MAX_BODY: usize = 16 << 20;

/// The test API of a server.
#[derive(Clone)]
pub struct TestApi {
    worlds: Worlds,
    key: String,
}

/// One call: what is called, and with what.
struct Call<'a> {
    method: Method,
    /// The segments of the path below the API's, decoded.
    segments: Vec<&'a str>,
    query: String,
    /// Whether the client asks for an event stream.
    accepts_stream: bool,
    body: Bytes,
}

impl TestApi {
    /// Creates the API of these worlds; requests carry `key` as a bearer token.
    pub fn new(worlds: Worlds, key: String) -> Self {
        Self { worlds, key }
    }

    /// Answers a request below [`TEST_API_PATH`].
    pub async fn answer(&self, request: Request) -> Response {
        let answered = match self.authenticate(&request) {
            Ok(()) => self.read_and_dispatch(request).await,
            Err(error) => Err(error),
        };
        answered.unwrap_or_else(|error| error.to_response().map(Body::new))
    }

    /// Checks the key. A page in a browser cannot know it, so that it is sufficient.
    fn authenticate(&self, request: &Request) -> Result<(), TestApiError> {
        let sent = single_header(request.headers(), &AUTHORIZATION).bearer(BearerWhitespace::Rejected);
        let sent = sent.present().unwrap_or_default();
        if bool::from(sent.as_bytes().ct_eq(self.key.as_bytes())) {
            return Ok(());
        }
        Err(TestApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the key of the test API is missing or wrong",
            "send Authorization: Bearer with the test_key that the server printed at its start",
        ))
    }

    async fn read_and_dispatch(&self, request: Request) -> Result<Response, TestApiError> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, MAX_BODY).collect().await.map_err(|_| {
            TestApiError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                format!("the body is larger than {MAX_BODY} bytes, or did not arrive"),
                "send it in parts",
            )
        })?;
        let path = head.uri.path().strip_prefix(TEST_API_PATH).unwrap_or_default();
        let decoded: Vec<String> = path.split('/').skip(1).map(decode_segment).collect();
        let segments = decoded.iter().map(String::as_str).collect();
        let query = head.uri.query().unwrap_or_default().to_owned();
        let accepts = single_header(&head.headers, &ACCEPT);
        let accepts_stream = accepts.present().is_some_and(|accepts| accepts.contains("text/event-stream"));
        self.dispatch(Call { method: head.method, segments, query, accepts_stream, body: body.to_bytes() }).await
    }

    async fn dispatch(&self, call: Call<'_>) -> Result<Response, TestApiError> {
        let worlds = &self.worlds;
        match (&call.method, call.segments.as_slice()) {
            (&Method::POST, ["worlds"]) => {
                let world = worlds.create(parse::<NewWorld>(&call.body)?).await?;
                self.describe(&world, StatusCode::CREATED).await
            }
            (&Method::GET, ["worlds"]) => self.list_worlds().await,
            (&Method::GET, ["worlds", id]) => self.describe(&*worlds.find(id)?, StatusCode::OK).await,
            (&Method::DELETE, ["worlds", id]) => {
                worlds.delete(id).await?;
                Ok(response::empty())
            }
            (&Method::POST, ["worlds", id, "reset"]) => {
                let world = worlds.find(id)?;
                worlds.reset(&world).await?;
                self.describe(&world, StatusCode::OK).await
            }
            (&Method::POST, ["worlds", id, "fork"]) => {
                let fork = worlds.fork(&*worlds.find(id)?, parse::<NewFork>(&call.body)?).await?;
                self.describe(&fork, StatusCode::CREATED).await
            }
            (_, ["worlds", id, "snapshots", ..]) => self.answer_snapshots(&*worlds.find(id)?, &call).await,
            (_, ["worlds", id, ..]) => self.answer_world(&*worlds.find(id)?, &call).await,
            _ => Err(unknown_call(&call)),
        }
    }

    async fn list_worlds(&self) -> Result<Response, TestApiError> {
        let mut listed = Vec::new();
        for world in self.worlds.list() {
            // One that is deleted meanwhile is left out.
            if let Ok(description) = self.description(&world).await {
                listed.push(description);
            }
        }
        Ok(response::json(StatusCode::OK, &json!({"worlds": listed})))
    }

    async fn answer_snapshots(&self, world: &World, call: &Call<'_>) -> Result<Response, TestApiError> {
        match (&call.method, &call.segments[3..]) {
            (&Method::GET, []) => Ok(response::json(StatusCode::OK, &self.worlds.list_snapshots(world))),
            (&Method::POST, [name]) => {
                self.worlds.store_snapshot(world, name).await?;
                self.describe(world, StatusCode::OK).await
            }
            (&Method::POST, [name, "restore"]) => {
                self.worlds.restore_snapshot(world, name).await?;
                self.describe(world, StatusCode::OK).await
            }
            (&Method::DELETE, [name]) => {
                self.worlds.delete_snapshot(name)?;
                Ok(response::empty())
            }
            _ => Err(unknown_call(call)),
        }
    }

    async fn describe(&self, world: &World, status: StatusCode) -> Result<Response, TestApiError> {
        Ok(response::json(status, &self.description(world).await?))
    }

    async fn description(&self, world: &World) -> Result<Value, TestApiError> {
        let profile = world.enter().await?.settings.profile;
        let database = self.worlds.builder().database_urls(&world.database);
        serde_json::to_value(world.describe(profile, database))
            .map_err(|error| TestApiError::internal("describing a world", &error))
    }
}

fn decode_segment(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

fn unknown_call(call: &Call<'_>) -> TestApiError {
    TestApiError::not_found(
        format!("{} {TEST_API_PATH}/{} is not a call of the test API", call.method, call.segments.join("/")),
        "docs/testing lists the calls",
    )
}
