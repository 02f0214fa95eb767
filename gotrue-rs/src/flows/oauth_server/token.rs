//! `POST /oauth/token`: a client that has proved itself gets tokens for a code, or the next ones for a refresh token.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::oauth_server::claims::{IdToken, id_token};
use gotrue_rules::domain::oauth_server::exchange::{Presented, redeem, unknown_code};
use gotrue_rules::domain::oauth_server::{Client, scope};
use gotrue_rules::domain::refresh;
use gotrue_rules::wire::oauth_server::{TokenRequest, TokensJson};
use uuid::Uuid;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::authorization_codes;
use crate::services::oauth_server::{for_clients, is_json};
use crate::services::sessions::open::{Proof, open};
use crate::services::sessions::refresh::refresh;
use crate::services::sessions::{self, Minted};
use crate::store::OrRefuse;
use crate::store::oauth_authorizations::{self, Code};

/// How such a session was opened, as `amr` names it.
const METHOD: &str = "oauth_provider/authorization_code";

/// Finds the grant and lets it answer.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = read(&cx).await?;
    if request.grant_type.is_empty() {
        return Err(invalid_request("grant_type is required"));
    }
    let nobody = || Error::oauth("invalid_client", "Client authentication required");
    let client = cx.found.client.as_ref().ok_or_else(nobody)?;
    if !client.may_use(&request.grant_type) {
        let description = format!("Client is not allowed to use grant type: {}", request.grant_type);
        return Err(Error::oauth("unsupported_grant_type", description));
    }
    match request.grant_type.as_str() {
        "authorization_code" => exchange(&cx, client, &request).await,
        "refresh_token" => renew(&cx, client, &request).await,
        other => Err(Error::oauth("unsupported_grant_type", format!("Unsupported grant type: {other}"))),
    }
}

async fn read(cx: &Cx) -> Result<TokenRequest> {
    if !is_json(cx) {
        return Ok(TokenRequest::of_form(|name| cx.request.query(name)));
    }
    let unreadable = || invalid_request("Invalid JSON body");
    let body = cx.bytes().await.map_err(|cause| unreadable().because(cause))?;
    TokenRequest::of_json(&body).map_err(|cause| unreadable().because(cause))
}

/// A session for a code, which works once.
async fn exchange(cx: &Cx, client: &Client, request: &TokenRequest) -> Result<Reply> {
    if request.code.is_empty() {
        return Err(invalid_request("code is required for authorization_code grant"));
    }
    let Some(Code { authorization, account }) = find(cx, &request.code).await? else {
        return Err(refuse_unknown_code(cx, client.id, &request.code).await);
    };
    let came = Presented {
        redirect_uri: &request.redirect_uri,
        verifier: &request.code_verifier,
        resource: &request.resource,
    };
    let owner = redeem(&authorization, client.id, came, cx.now)?;
    let account = account.ok_or_else(|| Error::oauth("invalid_grant", "User not found for authorization code"))?;
    if account.is_banned(cx.now) {
        return Err(Error::oauth("access_denied", "User is banned"));
    }
    let wants_id_token = scope::holds(&authorization.scope, scope::OPENID);
    if wants_id_token && cx.app.keys.signing_method() == "HS256" {
        // Nobody but us could check it. Told before the code is used up and a session opened that nobody gets.
        return Err(Error::internal("Error generating ID token").because("HS256 does not sign ID tokens"));
    }
    let entry = Entry::of(Action::Login)
        .with("provider_type", "oauth_provider_authorization_code")
        .with("client_id", client.id.to_string());
    let mut db = sessions::begin(cx).await?;
    if !oauth_authorizations::use_up(&mut db, &authorization, owner)
        .await
        .or_refuse("Error locking authorization code")?
    {
        db.rollback().await?;
        return Err(refuse_unknown_code(cx, client.id, &request.code).await);
    }
    let proof = Proof {
        oauth_client: Some(client.id),
        scopes: Some(&authorization.scope),
        ..Proof::new(&account, METHOD, vec![entry])
    };
    let minted = open(cx, &mut db, proof).await?;
    authorization_codes::record_exchange(cx, &mut db, client.id, &request.code, minted.session.id).await?;
    db.commit().await?;
    if !wants_id_token {
        return Ok(reply(&minted, None));
    }
    let wanted = IdToken {
        issuer: &cx.app.policy.jwt.issuer,
        client: client.id,
        nonce: &authorization.nonce,
        scopes: &authorization.scope,
    };
    let signed = cx.app.keys.sign(&id_token(&minted.account, wanted, cx.now));
    let signed = signed.map_err(|cause| Error::internal("Error generating ID token").because(cause))?;
    Ok(reply(&minted, Some(&signed)))
}

/// What a code stands for. Every code of ours is a UUID: no other text is looked for.
async fn find(cx: &Cx, code: &str) -> Result<Option<Code>> {
    if Uuid::parse_str(code).is_err() {
        return Ok(None);
    }
    oauth_authorizations::by_code(&mut cx.db(), code).await.or_refuse("Error finding authorization code")
}

/// The refusal of a code that can no longer be exchanged, after the session that it opened before is revoked.
async fn refuse_unknown_code(cx: &Cx, client: Uuid, code: &str) -> Error {
    match authorization_codes::revoke_replayed(cx, client, code).await {
        Ok(()) => unknown_code(),
        Err(error) => error,
    }
}

/// The next tokens of a session of that client.
async fn renew(cx: &Cx, client: &Client, request: &TokenRequest) -> Result<Reply> {
    if request.refresh_token.is_empty() {
        return Err(invalid_request("refresh_token is required for refresh_token grant"));
    }
    let renewed = match refresh::Presented::parse(&request.refresh_token) {
        Ok(presented) => refresh(cx, &presented, Some(client.id)).await,
        // Unlike at `/token`, a token of no form that there is counts as one that is not known.
        Err(_) => Err(refresh::not_found()),
    };
    Ok(reply(&renewed.map_err(|refusal| for_clients(cx, "invalid_grant", refusal))?, None))
}

fn reply(minted: &Minted, id_token: Option<&str>) -> Reply {
    minted.mark(Reply::json(&TokensJson {
        access_token: &minted.access_token,
        token_type: "bearer",
        expires_in: minted.expires_in,
        refresh_token: &minted.refresh_token.text,
        id_token,
    }))
}

fn invalid_request(description: &'static str) -> Error {
    Error::oauth("invalid_request", description)
}
