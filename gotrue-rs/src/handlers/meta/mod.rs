//! Health, settings, keys and discovery documents. Their bodies are built at start-up.

use foundation::error::Result;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;

/// `GET /health`: name and version; the database is not queried.
pub async fn health(cx: RequestContext) -> Result<Reply> {
    Ok(Reply::json_bytes(cx.app.static_responses.health))
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
