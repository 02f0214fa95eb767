//! `/oauth/authorizations/{authorization_id}`: shows a consent request and takes the decision.
//!
//! A request belongs to the first user who opens it.

use std::sync::Arc;

use foundation::error::{Error, OAuthErrorCode, Result};
use gotrue_rules::domain::oauth_server::authorization::{
    Authorization, ConsentDecision, ViewDecision, cannot_be_processed, decide_consent, decide_view, no_longer_pending,
    not_found,
};
use gotrue_rules::domain::oauth_server::redirect_uri::requires_new_consent;
use gotrue_rules::domain::oauth_server::{OAuthClient, scope};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::oauth_server::{
    AuthorizationJson, AuthorizationRedirectJson, ConsentAction, UserSummaryJson, invalid_consent_body,
};
use http::header::ORIGIN;
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::oauth_server::redirect_with_parameters;
use crate::store::oauth_authorizations::{self as authorizations, Approval, AuthorizationDetails};

const LOOKUP_FAILED: &str = "error finding authorization";

/// Shows the request, or returns the redirect URL if the user has granted the same scopes before.
pub async fn show(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    require_allowed_origin(&cx)?;
    // If a concurrent request opens it first, a second attempt sees that.
    for _ in 0..2 {
        if let Some(reply) = try_show(&cx, &caller.user).await? {
            return Ok(reply);
        }
    }
    Err(not_found())
}

async fn try_show(cx: &RequestContext, caller: &User) -> Result<Option<Reply>> {
    let AuthorizationDetails { authorization, client, granted_scopes: granted } =
        load_authorization(cx, caller).await?;
    let is_new_consent_required =
        |client: &OAuthClient| requires_new_consent(&cx.app.policy.oauth_server, client, &authorization.redirect_uri);
    let granted = granted.filter(|_| !client.as_ref().is_some_and(is_new_consent_required));
    let outcome = decide_view(&authorization, caller.id, granted.as_deref(), cx.now);
    if outcome == ViewDecision::Expired {
        authorizations::expire(&mut cx.db(), authorization.id).await.or_internal_error(LOOKUP_FAILED)?;
    }
    let client = client.ok_or_else(not_found)?;
    match outcome {
        ViewDecision::Expired | ViewDecision::OtherUser => Err(not_found()),
        ViewDecision::AlreadyDecided => Err(cannot_be_processed()),
        ViewDecision::Ask => Ok(Some(consent_request_reply(cx, caller, &authorization, &client))),
        ViewDecision::BindAndAsk => {
            let is_first = authorizations::bind_user(&mut cx.db(), authorization.id, caller.id)
                .await
                .or_internal_error(LOOKUP_FAILED)?;
            Ok(is_first.then(|| consent_request_reply(cx, caller, &authorization, &client)))
        }
        ViewDecision::AutoApprove => {
            let code = cx.entropy.uuid().to_string();
            let approval = Approval { id: authorization.id, user_id: caller.id, code: &code, now: cx.now };
            let granted = granted.unwrap_or_default();
            let agreed = authorizations::approve_with_consent(&mut cx.db(), approval, &granted).await;
            let is_first = agreed.or_internal_error("Error auto-approving authorization")?;
            if is_first { redirect_reply(&authorization, &[("code", &code)]).map(Some) } else { Ok(None) }
        }
    }
}

/// Takes the decision and returns the redirect URL.
pub async fn consent(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    require_allowed_origin(&cx)?;
    let body = cx.read_body().await.map_err(invalid_consent_body)?;
    let consent = ConsentAction::decode(&body)?;
    for _ in 0..2 {
        if let Some(reply) = try_consent(&cx, &caller.user, consent).await? {
            return Ok(reply);
        }
    }
    Err(not_found())
}

async fn try_consent(cx: &RequestContext, caller: &User, consent: ConsentAction) -> Result<Option<Reply>> {
    let AuthorizationDetails { authorization, .. } = load_authorization(cx, caller).await?;
    match decide_consent(&authorization, caller.id, cx.now) {
        ConsentDecision::Record => {}
        ConsentDecision::Expired => {
            authorizations::expire(&mut cx.db(), authorization.id).await.or_internal_error(LOOKUP_FAILED)?;
            return Err(not_found());
        }
        ConsentDecision::Foreign => return Err(not_found()),
        ConsentDecision::Closed => return Err(no_longer_pending()),
    }
    match consent {
        ConsentAction::Approve => {
            let code = cx.entropy.uuid().to_string();
            let approval = Approval { id: authorization.id, user_id: caller.id, code: &code, now: cx.now };
            let (consent_id, scopes) = (cx.entropy.uuid(), scope::normalize_scopes(&authorization.scope));
            let approved = authorizations::approve(&mut cx.db(), approval, consent_id, &scopes).await;
            let counts = approved.or_internal_error("error approving authorization")?;
            if counts { redirect_reply(&authorization, &[("code", &code)]).map(Some) } else { Ok(None) }
        }
        ConsentAction::Deny => {
            let denied = authorizations::deny(&mut cx.db(), authorization.id, caller.id).await;
            let counts = denied.or_internal_error("error denying authorization")?;
            let members =
                [("error", OAuthErrorCode::AccessDenied.as_str()), ("error_description", "User denied the request")];
            if counts { redirect_reply(&authorization, &members).map(Some) } else { Ok(None) }
        }
    }
}

/// Browsers send the origin of the page, which must be an allowed redirect target.
///
/// Other clients send none.
fn require_allowed_origin(cx: &RequestContext) -> Result<()> {
    let Some(origin) = cx.request.headers.get(ORIGIN).filter(|origin| !origin.is_empty()) else { return Ok(()) };
    if origin.to_str().is_ok_and(|origin| cx.app.redirect_allow_list.allows(origin)) {
        return Ok(());
    }
    Err(Error::invalid("unauthorized request origin"))
}

async fn load_authorization(cx: &RequestContext, caller: &User) -> Result<AuthorizationDetails> {
    let name = cx.request.path_param("authorization_id").unwrap_or_default();
    let found = authorizations::find_by_authorization_id(&mut cx.db(), name, caller.id)
        .await
        .or_internal_error(LOOKUP_FAILED)?;
    found.ok_or_else(not_found)
}

fn consent_request_reply(
    cx: &RequestContext,
    caller: &User,
    authorization: &Authorization,
    client: &OAuthClient,
) -> Reply {
    Reply::json(&AuthorizationJson {
        authorization_id: cx.request.path_param("authorization_id").unwrap_or_default(),
        redirect_uri: &authorization.redirect_uri,
        client: client.into(),
        user: UserSummaryJson { id: caller.id, email: caller.email.as_deref().unwrap_or_default() },
        scope: &authorization.scope,
    })
}

fn redirect_reply(authorization: &Authorization, members: &[(&str, &str)]) -> Result<Reply> {
    let redirect_url = redirect_with_parameters(&authorization.redirect_uri, members, &authorization.state)?;
    Ok(Reply::json(&AuthorizationRedirectJson { redirect_url }))
}
