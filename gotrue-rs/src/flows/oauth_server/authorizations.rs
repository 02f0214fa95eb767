//! `GET /oauth/authorizations/{authorization_id}` shows somebody what a client asks of him, `POST …/consent` takes the
//! answer. A request belongs to the first who looks at it.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::oauth_server::authorization::{
    Answered, Authorization, Look, answer, closed, look, no_longer_pending, not_found,
};
use gotrue_rules::domain::oauth_server::{Client, scope};
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::oauth_server::{AuthorizationJson, Consent, ReturnJson, UserSummaryJson};
use http::header::ORIGIN;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::oauth_server::answer_at;
use crate::store::OrRefuse;
use crate::store::oauth_authorizations::{self as authorizations, Approval, Shown};

const FAILED: &str = "error finding authorization";

/// What is asked; or where to go on, for who has agreed to as much before.
pub async fn show(cx: Cx) -> Result<Reply> {
    check_origin(&cx)?;
    let caller = &cx.caller()?.account;
    // Of two who look at once, one finds that the other was first.
    for _ in 0..2 {
        if let Some(reply) = attempt(&cx, caller).await? {
            return Ok(reply);
        }
    }
    Err(not_found())
}

async fn attempt(cx: &Cx, caller: &Account) -> Result<Option<Reply>> {
    let Shown { authorization, client, granted } = find(cx, caller).await?;
    let outcome = look(&authorization, caller.id, granted.as_deref(), cx.now);
    if outcome == Look::Expired {
        authorizations::expire(&mut cx.db(), authorization.id).await.or_refuse(FAILED)?;
    }
    let client = client.ok_or_else(not_found)?;
    match outcome {
        Look::Expired | Look::Foreign => Err(not_found()),
        Look::Closed => Err(closed()),
        Look::Ask => Ok(Some(asked(cx, caller, (&authorization, &client)))),
        Look::Bind => {
            let is_first = authorizations::bind(&mut cx.db(), authorization.id, caller.id).await.or_refuse(FAILED)?;
            Ok(is_first.then(|| asked(cx, caller, (&authorization, &client))))
        }
        Look::Agree => {
            let code = cx.entropy.uuid().to_string();
            let approval = Approval { id: authorization.id, user_id: caller.id, code: &code, now: cx.now };
            let granted = granted.unwrap_or_default();
            let agreed = authorizations::agree(&mut cx.db(), approval, &granted).await;
            let is_first = agreed.or_refuse("Error auto-approving authorization")?;
            if is_first { returned(&authorization, &[("code", &code)]).map(Some) } else { Ok(None) }
        }
    }
}

/// Takes the answer: where to go on with it.
pub async fn consent(cx: Cx) -> Result<Reply> {
    check_origin(&cx)?;
    let caller = &cx.caller()?.account;
    let body = cx.bytes().await.map_err(|cause| Error::bad_request("bad_json", "invalid JSON body").because(cause))?;
    let consent = Consent::decode(&body)?;
    for _ in 0..2 {
        if let Some(reply) = take(&cx, caller, consent).await? {
            return Ok(reply);
        }
    }
    Err(not_found())
}

async fn take(cx: &Cx, caller: &Account, consent: Consent) -> Result<Option<Reply>> {
    let Shown { authorization, .. } = find(cx, caller).await?;
    match answer(&authorization, caller.id, cx.now) {
        Answered::Counts => {}
        Answered::Expired => {
            authorizations::expire(&mut cx.db(), authorization.id).await.or_refuse(FAILED)?;
            return Err(not_found());
        }
        Answered::Foreign => return Err(not_found()),
        Answered::Closed => return Err(no_longer_pending()),
    }
    match consent {
        Consent::Approve => {
            let code = cx.entropy.uuid().to_string();
            let approval = Approval { id: authorization.id, user_id: caller.id, code: &code, now: cx.now };
            let remembered = (cx.entropy.uuid(), &*scope::once(&authorization.scope));
            let approved = authorizations::approve(&mut cx.db(), approval, remembered).await;
            let counts = approved.or_refuse("error approving authorization")?;
            if counts { returned(&authorization, &[("code", &code)]).map(Some) } else { Ok(None) }
        }
        Consent::Deny => {
            let denied = authorizations::deny(&mut cx.db(), authorization.id, caller.id).await;
            let counts = denied.or_refuse("error denying authorization")?;
            let members = [("error", "access_denied"), ("error_description", "User denied the request")];
            if counts { returned(&authorization, &members).map(Some) } else { Ok(None) }
        }
    }
}

/// Browsers say which page asks: it must be one that we may send somebody to. Others say nothing.
fn check_origin(cx: &Cx) -> Result<()> {
    let Some(origin) = cx.request.headers.get(ORIGIN).filter(|origin| !origin.is_empty()) else { return Ok(()) };
    if origin.to_str().is_ok_and(|origin| cx.app.redirects.allows(origin)) {
        return Ok(());
    }
    Err(Error::invalid("unauthorized request origin"))
}

async fn find(cx: &Cx, caller: &Account) -> Result<Shown> {
    let name = cx.request.param("authorization_id").unwrap_or_default();
    let found = authorizations::by_name(&mut cx.db(), name, caller.id).await.or_refuse(FAILED)?;
    found.ok_or_else(not_found)
}

fn asked(cx: &Cx, caller: &Account, (authorization, client): (&Authorization, &Client)) -> Reply {
    Reply::json(&AuthorizationJson {
        authorization_id: cx.request.param("authorization_id").unwrap_or_default(),
        redirect_uri: &authorization.redirect_uri,
        client: client.into(),
        user: UserSummaryJson { id: caller.id, email: caller.email.as_deref().unwrap_or_default() },
        scope: &authorization.scope,
    })
}

fn returned(authorization: &Authorization, members: &[(&str, &str)]) -> Result<Reply> {
    let redirect_url = answer_at(&authorization.redirect_uri, members, &authorization.state)?;
    Ok(Reply::json(&ReturnJson { redirect_url }))
}
