//! `/admin/oauth/clients`: clients of the OAuth server, as an administrator manages them.

use std::sync::Arc;

use foundation::error::{Error, Result};
use gotrue_rules::domain::oauth_server::client::not_found;
use gotrue_rules::domain::oauth_server::redirect_uri::RedirectUriRules;
use gotrue_rules::domain::oauth_server::registration::require_web_uris;
use gotrue_rules::domain::oauth_server::{OAuthClient, RegistrationType};
use gotrue_rules::wire::oauth_server::{ClientJson, ClientsJson, invalid_client_body, parse_client_changes};
use http::StatusCode;
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::oauth_server;
use crate::store::oauth_clients;

/// Lists all clients, newest first. As in GoTrue there are no pages.
pub async fn list(cx: RequestContext) -> Result<Reply> {
    let found = cx.read_stale(|mut db| async move { oauth_clients::list(&mut db).await }).await;
    let clients = found.or_internal_error("Error listing OAuth clients")?;
    Ok(Reply::json(&ClientsJson { clients: clients.iter().map(ClientJson::from).collect() }))
}

/// Registers a client; 201 with its secret, which is returned only once.
pub async fn create(cx: RequestContext) -> Result<Reply> {
    let (client, secret) = oauth_server::register_client(&cx, RegistrationType::Manual).await?;
    let with_expiry = cx.app.policy.oauth_server.has_standard_responses;
    let json = ClientJson::with_secret(&client, secret.as_deref(), with_expiry);
    Ok(Reply::json(&json).with_status(StatusCode::CREATED))
}

/// Returns the client.
pub async fn read(_: RequestContext, client: Arc<OAuthClient>) -> Result<Reply> {
    Ok(Reply::json(&ClientJson::from(&*client)))
}

/// Updates the client and returns it.
pub async fn update(cx: RequestContext, client: Arc<OAuthClient>) -> Result<Reply> {
    let body = cx.read_body().await.map_err(invalid_client_body)?;
    let changes = parse_client_changes(&body)?;
    changes.validate(&client, RedirectUriRules::from_policy(&cx.app.policy.oauth_server))?;
    if cx.app.policy.oauth_server.requires_web_uris {
        require_web_uris(changes.uri.as_deref().unwrap_or_default(), changes.logo_uri.as_deref().unwrap_or_default())?;
    }
    let updated = oauth_clients::update(&mut cx.db(), client.id, &changes, cx.now).await;
    let updated = updated.or_internal_error("Error updating OAuth client")?.ok_or_else(not_found)?;
    Ok(Reply::json(&ClientJson::from(&updated)))
}

/// Deletes the client; 204.
pub async fn delete(cx: RequestContext, client: Arc<OAuthClient>) -> Result<Reply> {
    let ends_sessions = cx.app.policy.oauth_server.should_sign_out_deleted_clients;
    let deleted = oauth_clients::delete(&mut cx.db(), client.id, cx.now, ends_sessions).await;
    deleted.or_internal_error("Error deleting OAuth client")?;
    Ok(Reply::no_content())
}

/// Replaces the client's secret.
///
/// The new one is returned only once, and the previous one becomes invalid.
pub async fn regenerate_secret(cx: RequestContext, client: Arc<OAuthClient>) -> Result<Reply> {
    if !client.is_confidential() {
        return Err(Error::invalid("Cannot regenerate secret for public client"));
    }
    let (secret, stored) = oauth_server::generate_secret(&cx);
    let changed = oauth_clients::set_secret(&mut cx.db(), client.id, &stored, cx.now).await;
    let changed = changed.or_internal_error("Error regenerating OAuth client secret")?.ok_or_else(not_found)?;
    let with_expiry = cx.app.policy.oauth_server.has_standard_responses;
    Ok(Reply::json(&ClientJson::with_secret(&changed, Some(&secret), with_expiry)))
}
