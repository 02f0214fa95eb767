//! `GET|POST /callback`: the return from a provider.
//!
//! Errors are redirected to the site until the flow is known, then to its target.

use foundation::error::{Error, ErrorKind, OAuthErrorCode, Result};
use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use gotrue_rules::domain::external::state;
use gotrue_rules::domain::linking::ExternalUser;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::error::{ApiVersion, VERSION_HEADER};
use gotrue_rules::wire::redirect::{
    ImplicitFlowTokens, site_with_callback_error, with_callback_error, with_code, with_session,
};
use http::Method;
use platform::store::{Connection, OrInternalError};
use telemetry::log_limit::LogLimit;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::external::{ProviderSignIn, complete_sign_in};
use crate::services::linking::{self, LinkOutcome};
use crate::services::sessions::create::{Authentication, create_session};
use crate::store::flow_state;
use crate::store::flow_state::external::{ExternalFlow, ExternalSignIn, LinkingTarget, complete, find_by_state};

/// Completes the sign-in and redirects with a session or a code.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let flow = match load_flow(&cx).await {
        Ok(flow) => flow,
        Err(error) => return answer_load_error(&cx, error),
    };
    let target = redirect_target(&cx, &flow);
    let location = match finish_sign_in(&cx, &flow, target).await {
        Ok(location) => location,
        Err(error) if matches!(error.kind, ErrorKind::InternalServerError) || cx.journal.has_lost_database() => {
            return Err(error);
        }
        Err(error) => {
            log_error(&cx, &error);
            with_callback_error(target, &error).map_err(Error::other)?
        }
    };
    Ok(if cx.request.method == Method::POST { Reply::found_without_body(&location) } else { Reply::found(&location) })
}

/// Checks the state of a request of another method or path: as in GoTrue, that precedes 404 and 405.
pub async fn check_state(cx: &RequestContext) -> Result<Option<Reply>> {
    match load_flow(cx).await {
        Ok(_) => Ok(None),
        Err(error) => answer_load_error(cx, error).map(Some),
    }
}

fn answer_load_error(cx: &RequestContext, error: Error) -> Result<Reply> {
    if matches!(error.kind, ErrorKind::InternalServerError) || cx.journal.has_lost_database() {
        return Err(error);
    }
    redirect_refusal(cx, &error)
}

/// Loads the pending flow of the state.
///
/// As in GoTrue, a flow that links to a deleted user is an internal error.
async fn load_flow(cx: &RequestContext) -> Result<ExternalFlow> {
    let is_form_read = cx.request.method == Method::POST;
    let state = if is_form_read { cx.request.query("state") } else { cx.request.url_query("state") };
    let id = state::parse(state.unwrap_or_default())?;
    let flow = find_by_state(&mut cx.db(), id)
        .await
        .or_internal_error("Error loading flow state")?
        .ok_or_else(state::state_not_found)?;
    state::validate(flow.created_at, flow.is_pkce && flow.is_used, cx.app.policy.external.flow_state_expiry, cx.now)?;
    match flow.linking {
        // The flow started before the address was confirmed, possibly not by its owner: it must be restarted.
        LinkingTarget::User(ref user)
            if cx.app.policy.security.is_linking_strict
                && user.email_confirmed_at.is_some_and(|confirmed_at| confirmed_at > flow.created_at) =>
        {
            Err(state::state_not_found())
        }
        LinkingTarget::Deleted => Err(Error::internal_server_error("the user to link to was deleted")),
        LinkingTarget::None | LinkingTarget::User(_) => Ok(flow),
    }
}

/// Redirects an error to the site; the response also has an error body, except to GET and HEAD.
fn redirect_refusal(cx: &RequestContext, error: &Error) -> Result<Reply> {
    log_error(cx, error);
    let location = site_with_callback_error(&cx.app.policy.site.site_url, error).map_err(Error::other)?;
    let reply = Reply::see_other(&location);
    if matches!(cx.request.method, Method::GET | Method::HEAD) {
        return Ok(reply);
    }
    let version = ApiVersion::from_header(cx.request.header(VERSION_HEADER));
    Ok(reply.with_error_body(error, version, &cx.request.id))
}

fn redirect_target<'a>(cx: &'a RequestContext, flow: &'a ExternalFlow) -> &'a str {
    let targets = [&cx.app.policy.external.redirect_url, &flow.redirect_to, &cx.app.policy.site.site_url];
    targets.into_iter().find(|target| !target.is_empty()).map_or("", String::as_str)
}

async fn finish_sign_in(cx: &RequestContext, flow: &ExternalFlow, target: &str) -> Result<String> {
    let external_sign_in = complete_sign_in(cx, flow).await?;
    let external_user = ExternalUser {
        provider: &flow.provider,
        profile: &external_sign_in.profile,
        email_optional: flow.email_optional,
    };
    let is_sign_in = matches!(flow.linking, LinkingTarget::None) && flow.invite_token.is_empty();
    if is_sign_in {
        linking::call_before_user_created(cx, &external_user).await?;
    }
    let mut db = linking::begin_sign_in(cx, &external_user).await?;
    let joined = match &flow.linking {
        LinkingTarget::User(user) => linking::link_to_user(cx, &mut db, user, &external_user).await?,
        _ if !is_sign_in => linking::accept_invitation(cx, &mut db, &flow.invite_token, &external_user).await?,
        _ => linking::sign_in(cx, &mut db, &external_user).await?,
    };
    let mut user = match joined {
        LinkOutcome::SignedIn { user, .. } => user,
        LinkOutcome::Refused(error) => {
            db.commit().await?;
            return Err(error);
        }
    };
    let signed_in = SignedInUser { user: &user, external_sign_in: &external_sign_in };
    let ended = if flow.is_pkce {
        finish_with_code(cx, db, flow, signed_in, target).await.map(|location| (location, user.last_sign_in_at))
    } else {
        finish_with_session(cx, db, flow, signed_in, target).await
    };
    let (location, last_sign_in_at) = ended.map_err(into_server_error)?;
    user.last_sign_in_at = last_sign_in_at;
    match flow.linking {
        LinkingTarget::User(_) => linking::notify_identity_linked(cx, &user, &flow.provider).await,
        _ if is_sign_in => linking::call_after_user_created(cx, &user).await?,
        _ => {}
    }
    Ok(location)
}

/// The user of a completed sign-in, and what the provider returned.
struct SignedInUser<'a> {
    user: &'a User,
    external_sign_in: &'a ProviderSignIn,
}

/// Stores user and provider tokens in the flow; the client exchanges the code for the session.
async fn finish_with_code(
    cx: &RequestContext,
    mut db: Connection,
    flow: &ExternalFlow,
    SignedInUser { user, external_sign_in }: SignedInUser<'_>,
    target: &str,
) -> Result<String> {
    let settled = ExternalSignIn {
        id: flow.id,
        user_id: user.id,
        access_token: &external_sign_in.access_token,
        refresh_token: &external_sign_in.refresh_token,
        now: cx.now,
    };
    let code = complete(&mut db, settled).await?.ok_or_else(state::state_already_used)?;
    cx.record_user(user.id);
    db.commit().await?;
    with_code(target, &code).map_err(Error::other)
}

/// Creates the session and deletes the flow.
///
/// Returns the location and the time of the user's last sign-in.
async fn finish_with_session(
    cx: &RequestContext,
    mut db: Connection,
    flow: &ExternalFlow,
    SignedInUser { user, external_sign_in }: SignedInUser<'_>,
    target: &str,
) -> Result<(String, Option<Time>)> {
    if flow_state::delete(&mut db, flow.id).await? == 0 {
        return Err(state::state_not_found());
    }
    let issued = create_session(cx, &mut db, Authentication::new(user, "oauth", Vec::new())).await?;
    db.commit().await?;
    issued.insert_response_headers(cx);
    let tokens = ImplicitFlowTokens {
        access_token: &issued.access_token,
        refresh_token: &issued.refresh_token.text,
        expires_in: issued.expires_in,
        expires_at: issued.expires_at,
        provider_token: Some(&external_sign_in.access_token),
        provider_refresh_token: Some(&*external_sign_in.refresh_token).filter(|token| !token.is_empty()),
    };
    Ok((with_session(target, &tokens, None), issued.user.last_sign_in_at))
}

/// Converts an error at the end of a flow into an OAuth error.
fn into_server_error(error: Error) -> Error {
    Error::oauth(OAuthErrorCode::ServerError, error.to_string()).with_cause(error)
}

/// Lines about failed sign-ins, by cause: any client can send an invalid authorization code.
static FAILED_SIGN_INS: LogLimit = LogLimit::new();

/// Logs an error that is redirected; the layers log only error responses.
///
/// The public text may quote a part of a code.
fn log_error(cx: &RequestContext, error: &Error) {
    cx.journal.record_redirected_error(error);
    let cause = error.cause.as_ref().map(|cause| tracing::field::display(ErrorChain(cause.as_ref())));
    let (id, status, code) = (&cx.request.id, error.status(), error.code().as_str());
    cx.span.record("error.code", code);
    if status < 500 {
        tracing::debug!(request.id = id, status, code, cause, "external sign-in refused");
        return;
    }
    let key = cause.as_ref().map(ToString::to_string).unwrap_or_default();
    if let Some(left_out) = FAILED_SIGN_INS.admit(&key) {
        tracing::warn!(request.id = id, status, code, cause, left_out, "external sign-in failed");
    } else {
        tracing::debug!(request.id = id, status, code, cause, "external sign-in failed");
    }
}
