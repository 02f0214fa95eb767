//! What several flows of the OAuth server share: who asks, new clients and their secrets, where an answer goes.

use gotrue_rules::domain::error::{Error, Kind, Result};
use gotrue_rules::domain::oauth_server::client_auth::{Credentials, hash_of, secret_of, unknown, unreadable};
use gotrue_rules::domain::oauth_server::registration::{register as accept, require_web};
use gotrue_rules::domain::oauth_server::{Client, ClientType, Registered};
use gotrue_rules::wire::oauth_server::{TokenRequest, credentials, registration};
use gotrue_rules::wire::redirect::with_members;
use http::header::AUTHORIZATION;

use crate::cx::Cx;
use crate::store::OrRefuse;
use crate::store::oauth_clients::{self, NewClient};

/// The client that proves to be itself, out of the header `Authorization`, else out of the body; 400
/// `invalid_credentials`, or by policy `invalid_client`. None if the header is there and names nobody.
pub async fn authenticate(cx: &Cx) -> Result<Option<Client>> {
    prove(cx).await.map_err(|refusal| for_clients(cx, "invalid_client", refusal))
}

/// A refusal as libraries of clients read it (RFC 6749 §5.2), where the policy has it so: some take a body without the
/// member `error` for tokens. What may be tried again as it is stays what it is.
pub fn for_clients(cx: &Cx, error: &'static str, refusal: Error) -> Error {
    let is_final =
        matches!(&refusal.kind, Kind::Http { status: 400..=499, .. }) && !matches!(refusal.status(), 409 | 429);
    if !is_final || !cx.app.policy.oauth_server.standard_answers {
        return refusal;
    }
    let description = refusal.message().to_owned().into();
    Error { kind: Kind::OAuth { error: error.into(), description }, ..refusal }
}

async fn prove(cx: &Cx) -> Result<Option<Client>> {
    if cx.app.policy.oauth_server.repeated_parameters_refused
        && let Some(twice) = TokenRequest::MEMBERS.into_iter().find(|name| cx.request.is_repeated(name))
    {
        return Err(Error::oauth("invalid_request", format!("{twice} is given more than once")));
    }
    let came = presented(cx).await?;
    if came.client_id.is_empty() {
        return Ok(None);
    }
    let found = oauth_clients::by_id(&mut cx.db(), came.id()?).await;
    let client = found.or_refuse("Error validating client credentials")?.ok_or_else(unknown)?;
    came.admit(&client)?;
    Ok(Some(client))
}

async fn presented(cx: &Cx) -> Result<Credentials> {
    let header = cx.request.headers.get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    if let Some(came) = header.and_then(Credentials::of_header) {
        return came;
    }
    if !is_json(cx) {
        let member = |name| cx.request.query(name).unwrap_or_default();
        return Credentials::of_body(member("client_id"), member("client_secret"));
    }
    let body = cx.bytes().await.map_err(|cause| unreadable("failed to read request body").because(cause))?;
    let read = credentials(&body).map_err(|cause| unreadable("failed to parse JSON body").because(cause));
    let (client_id, secret) = read?;
    Credentials::of_body(&client_id, &secret)
}

/// Whether a request for tokens is in JSON; everything else is a form, or nothing.
pub fn is_json(cx: &Cx) -> bool {
    cx.request.header("content-type").unwrap_or_default().contains("application/json")
}

/// Registers what the body asks for: the client, and its secret if it has one. 400 `bad_json`, `validation_failed`.
pub async fn register(cx: &Cx, registered: Registered) -> Result<(Client, Option<String>)> {
    let body = cx.bytes().await.map_err(|cause| Error::bad_request("bad_json", "Invalid JSON body").because(cause))?;
    let accepted = accept(registration(&body)?, cx.app.policy.oauth_server.commas_refused)?;
    if cx.app.policy.oauth_server.web_addresses_only {
        require_web(&accepted.uri, &accepted.logo_uri)?;
    }
    let is_confidential = accepted.client_type == ClientType::Confidential;
    let (secret, secret_hash) = if is_confidential { new_secret(cx) } else { Default::default() };
    let new =
        NewClient { id: cx.entropy.uuid(), secret_hash: &secret_hash, registered, accepted: &accepted, now: cx.now };
    let client = oauth_clients::insert(&mut cx.db(), new).await.or_refuse("failed to create OAuth client")?;
    let client = client.ok_or_else(|| Error::internal("failed to create OAuth client"))?;
    Ok((client, is_confidential.then_some(secret)))
}

/// A secret of 256 bits, and how it is stored.
pub fn new_secret(cx: &Cx) -> (String, String) {
    let secret = secret_of(cx.entropy.bytes());
    let stored = hash_of(&secret);
    (secret, stored)
}

/// Where a browser goes with these members of an answer, and with the client's `state` if it sent one.
pub fn answer_at(redirect_uri: &str, members: &[(&str, &str)], state: &str) -> Result<String> {
    let mut all = members.to_vec();
    if !state.is_empty() {
        all.push(("state", state));
    }
    with_members(redirect_uri, &all).map_err(|cause| Error::invalid("invalid redirect_uri").because(cause))
}
