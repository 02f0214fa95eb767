//! `GET /oauth/authorize`: a client sends somebody's browser here, and it is sent on to the page that asks for consent.
//! Until client and redirect URI are known to belong together, a complaint is answered here and nobody is redirected.

use chrono::TimeDelta;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::oauth_server::authorization::{Asked, Request, check};
use gotrue_rules::domain::oauth_server::{Client, redirect_uri};
use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::redirect::location;
use uuid::Uuid;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::oauth_server::answer_at;
use crate::store::OrRefuse;
use crate::store::oauth_authorizations::{self, NewAuthorization};
use crate::store::oauth_clients;

/// What may be given once, beside `client_id` and `redirect_uri`.
const MEMBERS: [&str; 7] =
    ["response_type", "scope", "state", "resource", "code_challenge", "code_challenge_method", "nonce"];

/// 302 to the page that asks, or back to the client with what is wrong.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let client = client(&cx).await?;
    let target = match ask(&cx, &client).await {
        Ok(page) => page,
        Err((error, description)) => {
            let members = [("error", error), ("error_description", &*description)];
            answer_at(asked(&cx, "redirect_uri"), &members, asked(&cx, "state"))?
        }
    };
    Ok(Reply::found(&location(&target)))
}

fn asked<'a>(cx: &'a Cx, name: &str) -> &'a str {
    cx.request.query(name).unwrap_or_default()
}

fn is_twice(cx: &Cx, name: &str) -> bool {
    cx.app.policy.oauth_server.repeated_parameters_refused && cx.request.is_repeated(name)
}

/// Who asks, once it is sure that the answer goes to nobody else.
async fn client(cx: &Cx) -> Result<Client> {
    for name in ["client_id", "redirect_uri"] {
        if asked(cx, name).is_empty() {
            return Err(Error::invalid(format!("{name} is required")));
        }
        if is_twice(cx, name) {
            return Err(Error::invalid(format!("{name} is given more than once")));
        }
    }
    let unknown = |message| Error::bad_request("oauth_client_not_found", message);
    let id = Uuid::parse_str(asked(cx, "client_id")).map_err(|_| unknown("invalid client_id format"))?;
    let found = oauth_clients::by_id(&mut cx.db(), id).await.or_refuse("error validating client")?;
    let client = found.ok_or_else(|| unknown("invalid client_id"))?;
    let target = asked(cx, "redirect_uri");
    let is_careful = cx.app.policy.oauth_server.commas_refused;
    if !client.has_redirect_uri(target) || is_careful && redirect_uri::check(target, true).is_err() {
        return Err(Error::invalid("invalid redirect_uri"));
    }
    Ok(client)
}

/// An OAuth error and its description.
type Complaint = (&'static str, String);

/// The page that asks, with a new request for it.
async fn ask(cx: &Cx, client: &Client) -> Result<String, Complaint> {
    let invalid = |description| ("invalid_request", description);
    if let Some(twice) = MEMBERS.into_iter().find(|name| is_twice(cx, name)) {
        return Err(invalid(format!("{twice} is given more than once")));
    }
    let policy = &cx.app.policy.oauth_server;
    let request = check(
        Asked {
            response_type: asked(cx, "response_type"),
            scope: asked(cx, "scope"),
            resource: asked(cx, "resource"),
            challenge: asked(cx, "code_challenge"),
            challenge_method: asked(cx, "code_challenge_method"),
        },
        policy,
    )
    .map_err(invalid)?;
    let page = page(cx).ok_or_else(|| ("server_error", "oauth authorization path not configured".to_owned()))?;
    let name = store(cx, client, &request).await?;
    Ok(format!("{page}?authorization_id={name}"))
}

/// The page that asks for consent: the operator's, below the site, else the one that is offered in its place.
fn page(cx: &Cx) -> Option<String> {
    let policy = &cx.app.policy.oauth_server;
    let path = policy.authorization_path.as_str();
    if path.is_empty() {
        return Some(policy.consent_page.clone()).filter(|page| !page.is_empty());
    }
    let site = cx.app.policy.site.site_url.trim_end_matches('/');
    let slash = if path.starts_with('/') { "" } else { "/" };
    Some(format!("{site}{slash}{path}"))
}

/// Keeps the request under a name that nobody can guess.
async fn store(cx: &Cx, client: &Client, request: &Request) -> Result<String, Complaint> {
    let life = TimeDelta::from_std(cx.app.policy.oauth_server.authorization_ttl).unwrap_or(TimeDelta::MAX);
    let name = cx.entropy.base32(32);
    let new = NewAuthorization {
        id: cx.entropy.uuid(),
        name: &name,
        client_id: client.id,
        redirect_uri: asked(cx, "redirect_uri"),
        scope: &request.scope,
        state: asked(cx, "state"),
        resource: asked(cx, "resource"),
        challenge: &request.challenge,
        nonce: asked(cx, "nonce"),
        now: cx.now,
        expires_at: cx.now.checked_add_signed(life).unwrap_or(Time::MAX_UTC),
    };
    match oauth_authorizations::insert(&mut cx.db(), new).await {
        Ok(()) => Ok(name),
        Err(cause) => {
            tracing::warn!(oauth.client_id = %client.id, %cause, "a request for consent was not stored");
            Err(("server_error", "error creating authorization".to_owned()))
        }
    }
}
