//! `/admin/oauth/clients`: clients of the OAuth server as an administrator makes, sees, changes and deletes them.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::oauth_server::Registered;
use gotrue_rules::domain::oauth_server::client::not_found;
use gotrue_rules::domain::oauth_server::registration::require_web;
use gotrue_rules::wire::oauth_server::{ClientJson, ClientsJson, changes};
use http::StatusCode;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::oauth_server;
use crate::store::{OrRefuse, oauth_clients};

/// All clients, newest first. There are no pages, as recorded.
pub async fn list(cx: Cx) -> Result<Reply> {
    let clients = oauth_clients::all(&mut cx.db()).await.or_refuse("Error listing OAuth clients")?;
    Ok(Reply::json(&ClientsJson { clients: clients.iter().map(ClientJson::from).collect() }))
}

/// 201 with the client, and with its secret this once.
pub async fn create(cx: Cx) -> Result<Reply> {
    let (client, secret) = oauth_server::register(&cx, Registered::Manual).await?;
    let end_told = cx.app.policy.oauth_server.standard_answers;
    let json = ClientJson::with_secret(&client, secret.as_deref(), end_told);
    Ok(Reply::json(&json).with_status(StatusCode::CREATED))
}

/// The client.
pub async fn read(cx: Cx) -> Result<Reply> {
    Ok(Reply::json(&ClientJson::from(cx.client()?)))
}

/// The client as it is then.
pub async fn update(cx: Cx) -> Result<Reply> {
    let client = cx.client()?;
    let body = cx.bytes().await.map_err(|cause| Error::bad_request("bad_json", "Invalid JSON body").because(cause))?;
    let changes = changes(&body)?;
    changes.check(client, cx.app.policy.oauth_server.commas_refused)?;
    if cx.app.policy.oauth_server.web_addresses_only {
        require_web(changes.uri.as_deref().unwrap_or_default(), changes.logo_uri.as_deref().unwrap_or_default())?;
    }
    let updated = oauth_clients::update(&mut cx.db(), client.id, &changes, cx.now).await;
    let updated = updated.or_refuse("Error updating OAuth client")?.ok_or_else(not_found)?;
    Ok(Reply::json(&ClientJson::from(&updated)))
}

/// 204.
pub async fn delete(cx: Cx) -> Result<Reply> {
    let ends_sessions = cx.app.policy.oauth_server.deleted_client_signed_out;
    let deleted = oauth_clients::delete(&mut cx.db(), cx.client()?.id, cx.now, ends_sessions).await;
    deleted.or_refuse("Error deleting OAuth client")?;
    Ok(Reply::no_content())
}

/// The client with another secret, which is told this once; the one before is worth nothing from now on.
pub async fn regenerate_secret(cx: Cx) -> Result<Reply> {
    let client = cx.client()?;
    if !client.is_confidential() {
        return Err(Error::invalid("Cannot regenerate secret for public client"));
    }
    let (secret, stored) = oauth_server::new_secret(&cx);
    let changed = oauth_clients::set_secret(&mut cx.db(), client.id, &stored, cx.now).await;
    let changed = changed.or_refuse("Error regenerating OAuth client secret")?.ok_or_else(not_found)?;
    let end_told = cx.app.policy.oauth_server.standard_answers;
    Ok(Reply::json(&ClientJson::with_secret(&changed, Some(&secret), end_told)))
}
