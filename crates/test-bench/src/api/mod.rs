//! The HTTP API of the test bench: worlds and everything in them.

mod call;
mod document;
mod events;
mod response;
mod schemas;
mod state;
mod world_calls;
mod worlds;

#[cfg(test)]
mod tests;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::any;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Limited};
use http_edge::request::{BearerWhitespace, single_header, with_path};
use subtle::ConstantTimeEq;
use tower::ServiceExt;
use utoipa::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use self::call::{CallPath, unknown_call};
use self::document::Description;
use self::state::ApiState;
pub use self::state::TEST_API_PATH;
use crate::TestApiError;
use crate::worlds::Worlds;

/// The largest body: some ten thousand users.
const MAX_BODY: usize = 16 << 20;

/// The test API of a server.
#[derive(Clone)]
pub struct TestApi(Router);

impl TestApi {
    /// Creates the API of these worlds; requests carry `key` as a bearer token.
    pub fn new(worlds: Worlds, key: String) -> Self {
        let (router, document) = with_empty_names(calls()).split_for_parts();
        let document = serde_json::to_string(&document).unwrap_or_default();
        let state = ApiState { worlds, key: key.into(), document: document.into() };
        let router = router
            .fallback(unknown_call)
            .layer(DefaultBodyLimit::disable())
            .layer(from_fn(receive_body))
            .layer(from_fn_with_state(state.clone(), authenticate))
            .with_state(state);
        Self(router)
    }

    /// Answers a request below [`TEST_API_PATH`].
    pub async fn answer(&self, mut request: Request) -> Response {
        let path = CallPath::decode(request.uri().path().strip_prefix(TEST_API_PATH).unwrap_or_default());
        *request.uri_mut() = with_path(request.uri(), &path.encode());
        request.extensions_mut().insert(path);
        self.0.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
    }
}

/// Returns the calls of the API.
fn calls() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(call(routes!(document::get_document)))
        .routes(call(routes!(worlds::list_worlds, worlds::create_world)))
        .routes(call(routes!(worlds::get_world, worlds::delete_world)))
        .routes(call(routes!(worlds::reset_world)))
        .routes(call(routes!(worlds::fork_world)))
        .routes(call(routes!(worlds::list_snapshots)))
        .routes(call(routes!(worlds::store_snapshot, worlds::delete_snapshot)))
        .routes(call(routes!(worlds::restore_snapshot)))
        .routes(call(routes!(world_calls::get_clock, world_calls::change_clock, world_calls::reset_clock)))
        .routes(call(routes!(world_calls::list_messages, world_calls::delete_messages)))
        .routes(call(routes!(world_calls::get_message, world_calls::delete_message)))
        .routes(call(routes!(world_calls::get_raw_message)))
        .routes(call(routes!(world_calls::get_message_headers)))
        .routes(call(routes!(world_calls::get_attachment)))
        .routes(call(routes!(world_calls::create_users)))
        .routes(call(routes!(world_calls::create_session)))
        .routes(call(routes!(world_calls::generate_totp)))
        .routes(call(routes!(world_calls::answer_passkey_options)))
        .routes(call(routes!(world_calls::list_faults, world_calls::add_fault, world_calls::delete_faults)))
        .routes(call(routes!(world_calls::delete_fault)))
        .routes(call(routes!(world_calls::set_next_sign_in)))
        .routes(call(routes!(world_calls::get_settings, world_calls::change_settings)))
        .routes(call(routes!(events::list_events)))
}

/// Adds the paths with an empty name, which a parameter of a path does not match: the calls refuse it like other names.
fn with_empty_names(calls: OpenApiRouter<ApiState>) -> OpenApiRouter<ApiState> {
    calls
        .route(
            "/worlds/{id}/snapshots/",
            any(unknown_call).post(worlds::store_snapshot).delete(worlds::delete_snapshot),
        )
        .route("/worlds/{id}/snapshots//restore", any(unknown_call).post(worlds::restore_snapshot))
        .route("/worlds/{id}/faults/", any(unknown_call).delete(world_calls::delete_fault))
        .route("/worlds/{id}/providers//next", any(unknown_call).post(world_calls::set_next_sign_in))
}

/// Makes other methods of a path, HEAD among them, unknown calls.
fn call((schemas, paths, methods): UtoipaMethodRouter<ApiState>) -> UtoipaMethodRouter<ApiState> {
    (schemas, paths, any(unknown_call).head(unknown_call).merge(methods))
}

/// Answers only requests with the key.
async fn authenticate(State(state): State<ApiState>, request: Request, next: Next) -> Result<Response, TestApiError> {
    check_key(request.headers(), &state.key)?;
    Ok(next.run(request).await)
}

/// Checks the key. A page in a browser cannot know it, so that it is sufficient.
fn check_key(headers: &HeaderMap, key: &str) -> Result<(), TestApiError> {
    let sent = single_header(headers, &AUTHORIZATION).bearer(BearerWhitespace::Rejected);
    let sent = sent.present().unwrap_or_default();
    if bool::from(sent.as_bytes().ct_eq(key.as_bytes())) {
        return Ok(());
    }
    Err(TestApiError::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the key of the test API is missing or wrong",
        "send Authorization: Bearer with the test_key that the server printed at its start",
    ))
}

/// Reads the body of every request, also of those that ignore it.
async fn receive_body(request: Request, next: Next) -> Result<Response, TestApiError> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(|_| {
        TestApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the body is larger than {MAX_BODY} bytes, or did not arrive"),
            "send it in parts",
        )
    })?;
    Ok(next.run(Request::from_parts(head, Body::from(body.to_bytes()))).await)
}
