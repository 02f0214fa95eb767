//! `POST /oauth/token`: an authenticated client exchanges a code or a refresh token for tokens.

use std::sync::Arc;

use foundation::error::{Error, OAuthErrorCode, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::ban::{BannedAttempt, require_not_banned};
use gotrue_rules::domain::oauth_server::claims::{IdTokenParameters, build_id_token_claims};
use gotrue_rules::domain::oauth_server::exchange::{ExchangeParameters, unknown_code, verify_exchange};
use gotrue_rules::domain::oauth_server::{OAuthClient, scope};
use gotrue_rules::domain::refresh;
use gotrue_rules::wire::oauth_server::{OAuthTokenResponseJson, TokenRequest};
use platform::store::OrInternalError;
use uuid::Uuid;

use crate::http::reply::Reply;
use crate::request_context::{AuthenticatedClient, RequestContext};
use crate::services::authorization_codes;
use crate::services::oauth_server::{has_json_body, into_oauth_error};
use crate::services::sessions::create::{Authentication, create_session};
use crate::services::sessions::refresh::refresh;
use crate::services::sessions::{self, IssuedTokens};
use crate::store::oauth_authorizations::{self, ApprovedAuthorization};

/// The method of such sessions in the claim `amr`.
const AMR_METHOD: &str = "oauth_provider/authorization_code";

/// Dispatches on the grant type.
pub async fn handle(cx: RequestContext, authenticated: Arc<AuthenticatedClient>) -> Result<Reply> {
    let request = read_request(&cx).await?;
    if request.grant_type.is_empty() {
        return Err(invalid_request("grant_type is required"));
    }
    let unauthenticated = || Error::oauth(OAuthErrorCode::InvalidClient, "Client authentication required");
    let client = authenticated.0.as_ref().ok_or_else(unauthenticated)?;
    if !client.can_use(&request.grant_type) {
        let description = format!("Client is not allowed to use grant type: {}", request.grant_type);
        return Err(Error::oauth(OAuthErrorCode::UnsupportedGrantType, description));
    }
    match request.grant_type.as_str() {
        "authorization_code" => exchange_code(&cx, client, &request).await,
        "refresh_token" => refresh_session(&cx, client, &request).await,
        other => Err(Error::oauth(OAuthErrorCode::UnsupportedGrantType, format!("Unsupported grant type: {other}"))),
    }
}

async fn read_request(cx: &RequestContext) -> Result<TokenRequest> {
    if !has_json_body(cx) {
        return Ok(TokenRequest::from_form(|name| cx.request.query(name)));
    }
    let unreadable = || invalid_request("Invalid JSON body");
    let body = cx.read_body().await.map_err(|cause| unreadable().with_cause(cause))?;
    TokenRequest::from_json(&body).map_err(|cause| unreadable().with_cause(cause))
}

/// Exchanges a code for a session; a code works once.
async fn exchange_code(cx: &RequestContext, client: &OAuthClient, request: &TokenRequest) -> Result<Reply> {
    if request.code.is_empty() {
        return Err(invalid_request("code is required for authorization_code grant"));
    }
    let Some(ApprovedAuthorization { authorization, user }) = find_code(cx, &request.code).await? else {
        return Err(refuse_unknown_code(cx, client.id, &request.code).await);
    };
    let presented = ExchangeParameters {
        redirect_uri: &request.redirect_uri,
        verifier: &request.code_verifier,
        resource: &request.resource,
    };
    let owner = verify_exchange(&authorization, client.id, presented, cx.now)?;
    let user =
        user.ok_or_else(|| Error::oauth(OAuthErrorCode::InvalidGrant, "User not found for authorization code"))?;
    require_not_banned(&user, BannedAttempt::CodeExchange, cx.now)?;
    let wants_id_token = scope::contains_scope(&authorization.scope, scope::OPENID);
    if wants_id_token && cx.app.keys.signing_method() == "HS256" {
        // A client cannot verify HS256 without the secret. Refused before the code is consumed and a session is
        // created.
        return Err(Error::internal("Error generating ID token").with_cause("HS256 does not sign ID tokens"));
    }
    let entry = AuditEntry::new(AuditAction::Login)
        .with_trait("provider_type", "oauth_provider_authorization_code")
        .with_trait("client_id", client.id.to_string());
    let mut db = sessions::begin_token_transaction(cx).await?;
    if !oauth_authorizations::consume(&mut db, &authorization, owner)
        .await
        .or_internal_error("Error locking authorization code")?
    {
        db.rollback().await?;
        return Err(refuse_unknown_code(cx, client.id, &request.code).await);
    }
    let authentication = Authentication {
        oauth_client: Some(client.id),
        scopes: Some(&authorization.scope),
        ..Authentication::new(&user, AMR_METHOD, vec![entry])
    };
    let issued = create_session(cx, &mut db, authentication).await?;
    authorization_codes::record_exchange(cx, &mut db, client.id, &request.code, issued.session.id).await?;
    db.commit().await?;
    if !wants_id_token {
        return Ok(token_reply(&issued, None));
    }
    let claims = IdTokenParameters {
        issuer: &cx.app.policy.jwt.issuer,
        client: client.id,
        nonce: &authorization.nonce,
        scopes: &authorization.scope,
        are_claims_limited: cx.app.policy.oauth_server.are_claims_limited_by_scopes,
    };
    let signed = cx.app.keys.sign(&build_id_token_claims(&issued.user, claims, cx.now));
    let signed = signed.map_err(|cause| Error::internal("Error generating ID token").with_cause(cause))?;
    Ok(token_reply(&issued, Some(&signed)))
}

/// Loads the authorization of a code. Codes are UUIDs; any other text is unknown without a query.
async fn find_code(cx: &RequestContext, code: &str) -> Result<Option<ApprovedAuthorization>> {
    if Uuid::parse_str(code).is_err() {
        return Ok(None);
    }
    oauth_authorizations::find_by_code(&mut cx.db(), code).await.or_internal_error("Error finding authorization code")
}

/// The error of an unknown or used code, after the session of its first exchange is revoked.
async fn refuse_unknown_code(cx: &RequestContext, client: Uuid, code: &str) -> Error {
    match authorization_codes::revoke_replayed(cx, client, code).await {
        Ok(()) => unknown_code(),
        Err(error) => error,
    }
}

/// Refreshes a session of this client.
async fn refresh_session(cx: &RequestContext, client: &OAuthClient, request: &TokenRequest) -> Result<Reply> {
    if request.refresh_token.is_empty() {
        return Err(invalid_request("refresh_token is required for refresh_token grant"));
    }
    let renewed = match refresh::PresentedRefreshToken::parse(&request.refresh_token) {
        Ok(presented) => refresh(cx, &presented, Some(client.id)).await,
        // Unlike at `/token`, a malformed refresh token is treated as an unknown one.
        Err(_) => Err(refresh::token_not_found()),
    };
    Ok(token_reply(&renewed.map_err(|refusal| into_oauth_error(cx, OAuthErrorCode::InvalidGrant, refusal))?, None))
}

fn token_reply(issued: &IssuedTokens, id_token: Option<&str>) -> Reply {
    issued.with_token_headers(Reply::json(&OAuthTokenResponseJson {
        access_token: &issued.access_token,
        token_type: "bearer",
        expires_in: issued.expires_in,
        refresh_token: &issued.refresh_token.text,
        id_token,
    }))
}

fn invalid_request(description: &'static str) -> Error {
    Error::oauth(OAuthErrorCode::InvalidRequest, description)
}
