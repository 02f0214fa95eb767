//! Starts a sign-in at a provider: validation, the stored flow, and the authorization URL.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foundation::error::{Error, ErrorCode, Result};
use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::external::authorization_url::{ProviderAuthorizationRequest, build_authorization_url};
use gotrue_rules::domain::external::provider::ProviderEndpoints;
use gotrue_rules::domain::external::simulation::format_hints;
use gotrue_rules::domain::one_time_token::{LinkToken, OneTimeTokenKind};
use gotrue_rules::domain::pkce::{Challenge, UnknownMethod, validate_challenge_pair};
use oauth2::{PkceCodeChallenge, PkceCodeVerifier};
use platform::store::OrInternalError;
use telemetry::log_limit::LogLimit;
use url::form_urlencoded::byte_serialize;
use uuid::Uuid;

use super::oauth1;
use super::provider::{ResolvedProvider, resolve_provider};
use crate::request_context::RequestContext;
use crate::services::explanations;
use crate::services::messages::redirect_target;
use crate::store::flow_state::external::{NewExternalFlow, insert};
use crate::store::one_time_tokens;

/// Returns the authorization URL of the provider that the query names.
///
/// `linking_target` is the user that gets the identity; with `None` the callback finds or creates one. Returns `None`
/// if the provider refused (OAuth 1.0a).
pub async fn start_authorization(cx: &RequestContext, linking_target: Option<Uuid>) -> Result<Option<String>> {
    let parameter = |name| cx.request.query(name).unwrap_or_default();
    // GoTrue treats names in another case as other providers, with other identities and another linking domain.
    let strict = cx.app.policy.security.is_linking_strict.then(|| parameter("provider").to_lowercase());
    let name = strict.as_deref().unwrap_or_else(|| parameter("provider"));
    let ready = resolve_provider(cx, name).await;
    let ready = ready.map_err(|reason| {
        explanations::record_provider(cx, name, &reason.to_string());
        Error::invalid(format!("Unsupported provider: {reason}")).with_cause(reason)
    })?;
    let invite_token = Some(parameter("invite_token")).filter(|token| !token.is_empty());
    if let Some(token) = invite_token {
        require_invitation(cx, token).await?;
    }
    let challenge = parse_challenge(parameter("code_challenge"), parameter("code_challenge_method"))?;
    let verifier = ready.config.uses_pkce.then(|| (cx.entropy.uuid(), generate_verifier(cx)));
    let id = cx.entropy.uuid();
    let flow = NewExternalFlow {
        id,
        provider: name,
        pkce: challenge.as_ref().map(|challenge| (challenge, cx.entropy.uuid())),
        invite_token,
        redirect_to: &redirect_target(cx),
        verifier: verifier.as_ref().map(|(id, verifier)| (*id, verifier.secret().as_str())),
        linking_target,
        email_optional: ready.enabled.settings.email_optional,
        now: cx.now,
    };
    insert(&mut cx.db(), flow).await.or_internal_error("Error creating flow state")?;
    let sent = verifier.map(|(_, verifier)| PkceCodeChallenge::from_code_verifier_sha256(&verifier));
    Ok(authorization_url(cx, &ready, &id.to_string(), sent.as_ref()).await)
}

/// Lines about sign-ins that could not be started, by provider: any client can start one.
static NOT_STARTED: LogLimit = LogLimit::new();

/// Generates a PKCE verifier of 43 characters (RFC 7636 §4.1).
fn generate_verifier(cx: &RequestContext) -> PkceCodeVerifier {
    PkceCodeVerifier::new(URL_SAFE_NO_PAD.encode(cx.entropy.bytes::<32>()))
}

async fn authorization_url(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    state: &str,
    challenge: Option<&PkceCodeChallenge>,
) -> Option<String> {
    let settings = &ready.enabled.settings;
    if let ProviderEndpoints::OAuth1 { request_token, .. } = &ready.config.endpoints {
        let callback = format!("{}?state={state}", settings.redirect_uri);
        return match oauth1::fetch_request_token(cx, ready, request_token, &callback).await {
            Ok(issued) => {
                let token: String = byte_serialize(issued.token.as_bytes()).collect();
                let hints = if settings.is_simulated() { format_hints(&cx.request.query) } else { String::new() };
                Some(format!("{}?oauth_token={token}{hints}", ready.authorize_endpoint()))
            }
            Err(error) => {
                let (cause, provider) = (ErrorChain(&error), ready.enabled.provider.name());
                if let Some(left_out) = NOT_STARTED.admit(provider) {
                    tracing::warn!(request.id = cx.request.id, %cause, provider, left_out, "external sign-in not started");
                }
                None
            }
        };
    }
    Some(build_authorization_url(
        &ready.config,
        &ProviderAuthorizationRequest {
            endpoint: &ready.authorize_endpoint(),
            client_id: ready.client_id(),
            redirect_uri: &settings.redirect_uri,
            state,
            code_challenge: challenge,
            client_params: &cx.request.query,
        },
    ))
}

async fn require_invitation(cx: &RequestContext, token: &str) -> Result<()> {
    let link = LinkToken::parse(token);
    let found = one_time_tokens::find_user_by_link(&mut cx.db(), &link, &[OneTimeTokenKind::Confirmation]).await;
    match found.or_internal_error("Database error finding user")? {
        Some(_) => Ok(()),
        None => Err(Error::new(ErrorCode::UserNotFound, "User identified by token not found")),
    }
}

fn parse_challenge(text: &str, method: &str) -> Result<Option<Challenge>> {
    validate_challenge_pair(text, method)?;
    Challenge::new(text, method).map_err(UnknownMethod::into_invalid_request)
}
