//! The `OpenAPI` document of the calls.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use utoipa::openapi::OpenApi as OpenApiDocument;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi};

use super::response;
use super::state::ApiState;
use crate::error::ErrorBody;

/// The name of the scheme by which calls are authenticated.
const SECURITY_SCHEME: &str = "test_key";

/// What the document says besides the calls.
#[derive(OpenApi)]
#[openapi(
    info(title = "Basalt test API", description = "Manages the isolated backends of `basalt serve --test`."),
    servers((url = "/_test", description = "The test server")),
    security(("test_key" = [])),
    components(schemas(ErrorBody)),
    modifiers(&TestKey)
)]
pub(super) struct Description;

/// Declares the key of the calls.
struct TestKey;

impl Modify for TestKey {
    fn modify(&self, document: &mut OpenApiDocument) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The `test_key` that the server prints at its start"));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme(SECURITY_SCHEME, SecurityScheme::Http(scheme.build()));
    }
}

/// The answer to a refused call.
#[derive(IntoResponses)]
#[response(status = "default", description = "The call is refused")]
#[expect(dead_code, reason = "a schema of the document")]
pub(super) struct Refusal(ErrorBody<'static>);

/// Returns this document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "document",
    responses((status = 200, description = "The document", body = Object), Refusal)
)]
pub(super) async fn get_document(State(state): State<ApiState>) -> Response {
    response::json_text(StatusCode::OK, String::from(&*state.document))
}
