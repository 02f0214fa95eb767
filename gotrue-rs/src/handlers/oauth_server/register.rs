//! `POST /oauth/clients/register`: dynamic client registration (RFC 7591).

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::oauth_server::RegistrationType;
use gotrue_rules::wire::oauth_server::ClientJson;
use http::StatusCode;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::oauth_server;

/// Registers a client; 201 with its secret, which is returned only once.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    if !cx.app.policy.oauth_server.allow_dynamic_registration {
        let message = "Dynamic client registration is not enabled";
        return Err(Error::new(ErrorCode::OAuthDynamicClientRegistrationDisabled, message));
    }
    let (client, secret) = oauth_server::register_client(&cx, RegistrationType::Dynamic).await?;
    let with_expiry = cx.app.policy.oauth_server.has_standard_responses;
    let json = ClientJson::with_secret(&client, secret.as_deref(), with_expiry);
    Ok(Reply::json(&json).with_status(StatusCode::CREATED))
}
