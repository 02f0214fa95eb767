//! What the server tells about itself. All of it is prepared when the server starts.

use gotrue_rules::domain::error::Result;

use crate::cx::Cx;
use crate::http::reply::Reply;

/// The body of `GET /health`: name and version, no look at the database.
pub const HEALTH: &str = concat!(
    r#"{"version":"v"#,
    env!("CARGO_PKG_VERSION"),
    r#"","name":"GoTrue","description":"GoTrue is a user registration and authentication API"}"#
);

/// `GET /health`.
pub async fn health(_cx: Cx) -> Result<Reply> {
    Ok(Reply::json_bytes(HEALTH))
}

/// `GET /.well-known/jwks.json`: the public keys.
pub async fn jwks(cx: Cx) -> Result<Reply> {
    Ok(Reply::json_bytes(cx.app.keys.jwks_json()).kept_for_ten_minutes())
}

/// `GET /settings`: what is switched on.
pub async fn settings(cx: Cx) -> Result<Reply> {
    Ok(Reply::json_bytes(cx.app.prepared.settings.as_str()))
}

/// `GET /.well-known/openid-configuration`: there whether the OAuth server is on or not.
pub async fn discovery(cx: Cx) -> Result<Reply> {
    Ok(Reply::json_bytes(cx.app.prepared.discovery.as_str()).kept_for_ten_minutes())
}
