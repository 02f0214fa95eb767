//! Health, settings, keys and discovery documents. Their bodies are built at start-up.

use gotrue_rules::domain::error::Result;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;

/// The body of `GET /health`: name and version; the database is not queried.
pub const HEALTH: &str = concat!(
    r#"{"version":"v"#,
    env!("CARGO_PKG_VERSION"),
    r#"","name":"GoTrue","description":"GoTrue is a user registration and authentication API"}"#
);

/// `GET /health`.
pub async fn health(_cx: RequestContext) -> Result<Reply> {
    Ok(Reply::json_bytes(HEALTH))
}

/// `GET /.well-known/jwks.json`: the public keys.
pub async fn jwks(cx: RequestContext) -> Result<Reply> {
    Ok(Reply::json_bytes(cx.app.keys.jwks_json()).with_public_cache())
}

/// `GET /settings`: the enabled features.
pub async fn settings(cx: RequestContext) -> Result<Reply> {
    Ok(Reply::json_bytes(cx.app.static_responses.settings.as_str()))
}

/// `GET /.well-known/openid-configuration`: served also while the OAuth server is disabled.
pub async fn discovery(cx: RequestContext) -> Result<Reply> {
    Ok(Reply::json_bytes(cx.app.static_responses.discovery.as_str()).with_public_cache())
}
