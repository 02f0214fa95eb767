//! What handlers take from a request, and refusals in plain text. What is checked has a type that its check alone makes.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use foundation::language::Language;
use http::header::{ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{Extensions, StatusCode};
use http_edge::request::{BODY_DEADLINE, ResolvedRequest, is_same_origin, read_body};

use crate::service::OrderService;

/// The request of a reader of the pages.
pub(super) struct Visit {
    pub service: Arc<OrderService>,
    /// The language that the reader prefers.
    pub language: Language,
    /// The token of a link, as it is in the path: decoded, it would be another.
    pub token: String,
}

impl FromRequestParts<Arc<OrderService>> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, service: &Arc<OrderService>) -> Result<Self, Infallible> {
        let language = head.headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let language = language.and_then(Language::negotiate).unwrap_or_default();
        let token = head.uri.path().splitn(4, '/').nth(3).unwrap_or_default().to_owned();
        Ok(Self { service: Arc::clone(service), language, token })
    }
}

/// A form of at most `MAX` bytes that no page of another site has sent.
pub(super) struct OwnForm<const MAX: usize> {
    content: Bytes,
    /// Whether its media type is that of a form.
    pub is_typed: bool,
}

impl<const MAX: usize> FromRequest<Arc<OrderService>> for OwnForm<MAX> {
    type Rejection = Response;

    async fn from_request(request: Request, _: &Arc<OrderService>) -> Result<Self, Response> {
        if !is_same_origin(request.headers()) {
            return Err(not_own());
        }
        let media_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_typed =
            media_type.split(';').next().is_some_and(|name| name.trim() == "application/x-www-form-urlencoded");
        let content = read_body(request.into_body(), MAX, BODY_DEADLINE).await.map_err(|_| not_received())?;
        Ok(Self { content, is_typed })
    }
}

impl<const MAX: usize> OwnForm<MAX> {
    /// Returns the first value of a field.
    pub(super) fn find(&self, name: &str) -> Option<Cow<'_, str>> {
        url::form_urlencoded::parse(&self.content).find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// Refuses a form of another site, each of whose visitors would send it from a network of its own.
pub(super) fn not_own() -> Response {
    plain(StatusCode::FORBIDDEN, "The form was not sent by this page. Open the page and try again.\n")
}

/// Refuses a form that did not arrive, or is none.
pub(super) fn not_received() -> Response {
    plain(StatusCode::BAD_REQUEST, "The form was not received.\n")
}

/// Answers with plain text that is not kept.
pub(super) fn plain(status: StatusCode, text: &str) -> Response {
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    (status, headers, text.to_owned()).into_response()
}

/// Returns the network of the client, which limits apply to; empty if it is unknown.
pub(super) fn find_network(extensions: &Extensions) -> String {
    let client = extensions.get::<ResolvedRequest>().and_then(|resolved| resolved.client);
    client.map(|client| client.network().to_string()).unwrap_or_default()
}
