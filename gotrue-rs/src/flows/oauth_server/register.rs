//! `POST /oauth/clients/register`: an application makes itself known (RFC 7591).

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::oauth_server::Registered;
use gotrue_rules::wire::oauth_server::ClientJson;
use http::StatusCode;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::oauth_server;

/// 201 with the client, and with its secret this once.
pub async fn handle(cx: Cx) -> Result<Reply> {
    if !cx.app.policy.oauth_server.allow_dynamic_registration {
        let message = "Dynamic client registration is not enabled";
        return Err(Error::forbidden("oauth_dynamic_client_registration_disabled", message));
    }
    let (client, secret) = oauth_server::register(&cx, Registered::Dynamic).await?;
    let end_told = cx.app.policy.oauth_server.standard_answers;
    let json = ClientJson::with_secret(&client, secret.as_deref(), end_told);
    Ok(Reply::json(&json).with_status(StatusCode::CREATED))
}
