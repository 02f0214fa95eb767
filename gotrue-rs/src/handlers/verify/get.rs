//! `GET /verify`: follows a link. Except for two errors, the response is a redirect to the site.

use foundation::error::{Error, Result};
use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::one_time_token::LinkToken;
use gotrue_rules::domain::purpose::flow_method_for_link_type;
use gotrue_rules::domain::verification::{
    FIRST_CONFIRMATION_ACCEPTED, PresentedToken, VerificationRequest, flow_state_missing,
};
use gotrue_rules::wire::redirect::{ImplicitFlowTokens, with_code, with_error, with_message, with_session};
use http::StatusCode;
use http::header::CACHE_CONTROL;
use http_edge::request::is_prefetch;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::messages::redirect_target;
use crate::services::sessions::create::{Authentication, create_session};
use crate::services::verification::{TokenOutcome, apply_token};
use crate::services::{notices, sessions};
use crate::store::flow_state;

/// Verifies the link and redirects. A prefetch must not consume the token and gets 503.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    if is_prefetch(&cx.request.headers) {
        return Ok(Reply::empty(StatusCode::SERVICE_UNAVAILABLE).with_header(CACHE_CONTROL, "no-store"));
    }
    let word = cx.request.query("type").unwrap_or_default();
    let token = cx.request.query("token").unwrap_or_default();
    let request = VerificationRequest::from_link(word, token)?;
    let PresentedToken::Link(link) = &request.token else { return Err(Error::other("a link holds no code")) };
    let method = if link.hash().is_pkce() {
        Some(
            flow_method_for_link_type(word)
                .ok_or_else(|| Error::other(format!("unsupported authentication method {word:?}")))?,
        )
    } else {
        None
    };
    let target = redirect_target(&cx);
    let location = match follow_link(&cx, &request, link, method, &target).await {
        Ok(location) => location,
        // The link is still valid: the client may retry.
        Err(error) if cx.journal.has_lost_database() => return Err(error),
        Err(error) => {
            log_error(&cx, &error);
            with_error(&target, &error, method.is_some()).map_err(Error::other)?
        }
    };
    Ok(Reply::see_other(&location))
}

/// Logs an error that is redirected; the layers log only error responses.
fn log_error(cx: &RequestContext, error: &Error) {
    cx.journal.record_redirected_error(error);
    let cause = error.cause.as_ref().map(|cause| tracing::field::display(ErrorChain(cause.as_ref())));
    let (id, status, code) = (&cx.request.id, error.status(), error.code().as_str());
    cx.span.record("error.code", code);
    if status >= 500 {
        tracing::warn!(request.id = id, status, code, cause, detail = error.message(), "link verification failed");
    } else {
        tracing::debug!(request.id = id, status, code, cause, detail = error.message(), "link refused");
    }
}

async fn follow_link(
    cx: &RequestContext,
    request: &VerificationRequest,
    link: &LinkToken,
    method: Option<&str>,
    target: &str,
) -> Result<String> {
    let good = super::load_verified_link(cx, request.verification_type, link).await?;
    let mut db = sessions::begin_token_transaction(cx).await?;
    let TokenOutcome::Applied(user) = apply_token(cx, &mut db, &good).await? else {
        db.commit().await?;
        return with_message(target, FIRST_CONFIRMATION_ACCEPTED, method.is_some()).map_err(Error::other);
    };
    if let Some(method) = method {
        let code = flow_state::issue_code(&mut db, user.id, method, cx.now).await?.ok_or_else(flow_state_missing)?;
        db.commit().await?;
        notices::send_contact_changed(cx, &good.user, &user).await;
        return with_code(target, &code).map_err(Error::other);
    }
    let issued = create_session(cx, &mut db, Authentication::new(&user, "otp", Vec::new())).await?;
    db.commit().await?;
    notices::send_contact_changed(cx, &good.user, &user).await;
    issued.insert_response_headers(cx);
    let tokens = ImplicitFlowTokens {
        access_token: &issued.access_token,
        refresh_token: &issued.refresh_token.text,
        expires_in: issued.expires_in,
        expires_at: issued.expires_at,
        provider_token: None,
        provider_refresh_token: None,
    };
    Ok(with_session(target, &tokens, Some(good.kind.as_str())))
}
