//! `POST /sso/saml/acs`: receives a SAML response.
//!
//! Both success and failure are redirects, with a session, a code or an error.

use foundation::error::{Error, Result};
use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::external::profile::ProviderProfile;
use gotrue_rules::domain::external::state::state_already_used;
use gotrue_rules::domain::saml::assertion::Assertion;
use gotrue_rules::domain::saml::binding::{self, SamlFlow};
use gotrue_rules::domain::saml::profile::build_profile;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::wire::redirect::{ImplicitFlowTokens, site_with_callback_error, with_code, with_session};
use http::StatusCode;
use http::header::LOCATION;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::linking::{self, ExternalUser, LinkOutcome};
use crate::services::saml::{metadata, response};
use crate::services::sessions::IssuedTokens;
use crate::services::sessions::create::{Authentication, create_session};
use crate::store::saml_relay_states::{self, WaitingFlow};
use crate::store::sso_providers;

const AMR_METHOD: &str = "sso/saml";

/// A received SAML response with its relay state.
struct ReceivedResponse {
    provider: SsoProvider,
    xml: String,
    /// The id of the request that it must answer.
    request: Option<String>,
    /// The redirect target.
    redirect_to: String,
    /// The PKCE flow that waits for a code.
    flow: Option<WaitingFlow>,
}

/// Verifies a response and signs its user in.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    match sign_in(&cx).await {
        Ok(location) => Ok(Reply::found_without_body(&location)),
        Err(error) if cx.journal.has_lost_database() => Err(error),
        Err(error) => {
            log_error(&cx, &error);
            let location = site_with_callback_error(&cx.app.policy.site.site_url, &error).map_err(Error::other)?;
            Ok(Reply::empty(StatusCode::SEE_OTHER).with_header(LOCATION, &location))
        }
    }
}

/// Logs an error that is redirected; the layers log only error responses.
fn log_error(cx: &RequestContext, error: &Error) {
    cx.journal.record_redirected_error(error);
    let cause = error.cause.as_ref().map(|cause| tracing::field::display(ErrorChain(cause.as_ref())));
    let (id, status, code) = (&cx.request.id, error.status(), error.code().as_str());
    cx.span.record("error.code", code);
    if status >= 500 {
        tracing::warn!(request.id = id, status, code, cause, "SAML sign-in failed");
    } else {
        tracing::info!(request.id = id, status, code, cause, "SAML sign-in refused");
    }
}

async fn sign_in(cx: &RequestContext) -> Result<String> {
    let form = |name| cx.request.query(name).unwrap_or_default();
    let delivered = match SamlFlow::from_relay_state(form("RelayState"))? {
        SamlFlow::SpInitiated(id) => receive_requested(cx, id, form("SAMLResponse")).await?,
        SamlFlow::IdpInitiated(target) => {
            receive_unsolicited(cx, target, form("SAMLResponse"), form("SAMLart")).await?
        }
    };
    if !delivered.provider.is_enabled() {
        return Err(binding::provider_disabled());
    }
    let provider = &delivered.provider;
    let described = metadata::load_current(cx, provider).await?;
    let assertion = response::verify(cx, &described, &delivered.xml, delivered.request.as_deref())?;
    let external_user =
        build_profile(&assertion, &provider.saml.attribute_mapping, &provider.saml.entity_id)?.with_primary_email();
    if cx.app.policy.saml.requires_provider_domain {
        binding::require_provider_domain(&external_user.emails, &provider.domains)?;
    }
    let issued = sign_in_user(cx, &delivered, &assertion, &external_user).await?;
    issued.insert_response_headers(cx);
    let target = Some(&delivered.redirect_to).filter(|target| cx.app.redirect_allow_list.allows(target));
    let target = target.unwrap_or(&cx.app.policy.site.site_url);
    match &delivered.flow {
        Some(flow) => with_code(target, &flow.auth_code).map_err(Error::other),
        None => Ok(with_session(target, &redirect_tokens(&issued), None)),
    }
}

/// Receives the response to a stored request, which is consumed.
async fn receive_requested(cx: &RequestContext, id: uuid::Uuid, response: &str) -> Result<ReceivedResponse> {
    let mut db = cx.db();
    let stored = saml_relay_states::find_by_id(&mut db, id).await?.ok_or_else(binding::relay_state_not_found)?;
    let age = (cx.now - stored.created_at).to_std().unwrap_or_default();
    let is_late = age >= cx.app.policy.saml.relay_state_validity;
    if !is_late && !stored.provider.is_enabled() {
        return Err(binding::provider_disabled());
    }
    let is_first = saml_relay_states::delete(&mut db, id).await?;
    if is_late {
        return Err(binding::relay_state_expired());
    }
    if !is_first {
        return Err(binding::relay_state_not_found());
    }
    Ok(ReceivedResponse {
        provider: stored.provider,
        xml: binding::decode_response(response).unwrap_or_default(),
        request: Some(stored.request_id),
        redirect_to: stored.redirect_to,
        flow: stored.flow,
    })
}

/// Receives an IdP-initiated response.
async fn receive_unsolicited(
    cx: &RequestContext,
    target: &str,
    response: &str,
    artifact: &str,
) -> Result<ReceivedResponse> {
    let (xml, issuer) = binding::decode_idp_initiated(response, artifact)?;
    let provider = sso_providers::find_by_entity_id(&mut cx.db(), &issuer).await?;
    let provider = provider.ok_or_else(binding::provider_not_found)?;
    Ok(ReceivedResponse { provider, xml, request: None, redirect_to: target.to_owned(), flow: None })
}

/// Signs the user in: user, flow and session in one transaction.
async fn sign_in_user(
    cx: &RequestContext,
    delivered: &ReceivedResponse,
    assertion: &Assertion,
    profile: &ProviderProfile,
) -> Result<IssuedTokens> {
    let provider = delivered.provider.identity_provider_name();
    let external_user = ExternalUser { provider: &provider, profile, email_optional: false };
    linking::call_before_user_created(cx, &external_user).await?;
    let mut db = linking::begin_sign_in(cx, &external_user).await?;
    response::consume_assertion(cx, &mut db, assertion).await?;
    let (user, is_new) = match linking::sign_in(cx, &mut db, &external_user).await? {
        LinkOutcome::SignedIn { user, is_new } => (user, is_new),
        LinkOutcome::Refused(error) => {
            db.commit().await?;
            return Err(error);
        }
    };
    if let Some(flow) = &delivered.flow
        && !saml_relay_states::assign_user(&mut db, flow.id, user.id, cx.now).await?
    {
        return Err(state_already_used());
    }
    let authentication = Authentication {
        not_after: assertion.session_not_on_or_after,
        ..Authentication::new(&user, AMR_METHOD, Vec::new())
    };
    let issued = create_session(cx, &mut db, authentication).await?;
    db.commit().await?;
    if is_new {
        linking::call_after_user_created(cx, &issued.user).await?;
    }
    Ok(issued)
}

fn redirect_tokens(issued: &IssuedTokens) -> ImplicitFlowTokens<'_> {
    ImplicitFlowTokens {
        access_token: &issued.access_token,
        refresh_token: &issued.refresh_token.text,
        expires_in: issued.expires_in,
        expires_at: issued.expires_at,
        provider_token: None,
        provider_refresh_token: None,
    }
}
