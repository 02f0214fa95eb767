//! What the `OpenAPI` document says besides the calls.

use utoipa::openapi::OpenApi as OpenApiDocument;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi, ToSchema};

use crate::session::{COOKIE_NAME, CSRF_HEADER};

/// The name of the scheme by which owners are known.
const SESSION: &str = "session";
/// The name of the scheme of changes.
const CSRF_TOKEN: &str = "csrf_token";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Basalt owner's desk",
        description = "Calls of the pages of the desk. Changes have the header `Origin` of the site, and those of a \
                       signed-in owner `X-Desk-CSRF` with `csrf_token` of `GET /session`."
    ),
    servers((url = "/_desk/api", description = "The server of the shop")),
    security(("session" = [], "csrf_token" = [])),
    components(schemas(ErrorBody)),
    modifiers(&Session)
)]
pub(crate) struct Description;

/// Declares the cookie of the session and the token of changes.
struct Session;

impl Modify for Session {
    fn modify(&self, document: &mut OpenApiDocument) {
        let components = document.components.get_or_insert_default();
        let cookie = ApiKeyValue::with_description(COOKIE_NAME, "By HTTPS with the prefix `__Host-`");
        components.add_security_scheme(SESSION, SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
        let token = ApiKeyValue::with_description(CSRF_HEADER.as_str(), "Of methods other than GET");
        components.add_security_scheme(CSRF_TOKEN, SecurityScheme::ApiKey(ApiKey::Header(token)));
    }
}

/// A refused request.
#[derive(ToSchema)]
#[schema(as = Error)]
#[expect(dead_code, reason = "a schema of the document")]
struct ErrorBody {
    /// A stable name of the error.
    code: String,
    /// What is wrong.
    message: String,
    /// What to do next.
    hint: Option<String>,
}

/// The answer to a refused request.
#[derive(IntoResponses)]
#[response(status = "default", description = "The request is refused")]
#[expect(dead_code, reason = "a schema of the document")]
pub(crate) struct Refusal(ErrorBody);
