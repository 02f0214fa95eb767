//! Completes a sign-in at a provider: exchanges the code for tokens and reads the user's profile.

use foundation::error::{Error, ErrorCode, OAuthErrorCode, Result};
use gotrue_rules::domain::external::oauth1::OAuth1Token;
use gotrue_rules::domain::external::profile::ProviderProfile;
use gotrue_rules::domain::external::provider::{
    FetchRequest, ProfileContext, ProfileStep, ProviderEndpoints, ProviderResponseError, ProviderTokenResponse,
};
use gotrue_rules::domain::external::state::{FlowVerifier, select_verifier};
use gotrue_rules::domain::external::token_response::authorization_header;
use gotrue_rules::wire::go_json::Document;
use platform::store::OrInternalError;
use reqwest::{Method, Request};
use url::Url;

use super::exchange::exchange_code;
use super::oauth1;
use super::provider::{ResolvedProvider, is_oauth1, resolve_provider};
use super::provider_request::{ProviderError, insert_header, require_success, send_provider_request};
use crate::request_context::RequestContext;
use crate::store::flow_state::external::ExternalFlow;
use crate::store::oauth_client_states;

/// The maximum number of requests for a profile; no provider needs more than three.
const MAX_STEPS: usize = 8;

/// The user that the provider authenticated, with the provider's tokens.
#[derive(Debug)]
pub struct ProviderSignIn {
    /// The user's profile.
    pub profile: ProviderProfile,
    /// The provider's access token.
    pub access_token: String,
    /// The provider's refresh token; empty if there is none.
    pub refresh_token: String,
}

/// Completes the flow with the parameters of the callback.
pub async fn complete_sign_in(cx: &RequestContext, flow: &ExternalFlow) -> Result<ProviderSignIn> {
    let sign_in = if is_oauth1(cx, &flow.provider) {
        complete_oauth1(cx, flow).await?
    } else {
        complete_oauth2(cx, flow).await?
    };
    if sign_in.profile.emails.is_empty() && !flow.email_optional {
        return Err(Error::internal(NO_EMAIL));
    }
    Ok(ProviderSignIn { profile: sign_in.profile.with_primary_email(), ..sign_in })
}

const NO_EMAIL: &str = "Error getting user email from external provider";

async fn complete_oauth2(cx: &RequestContext, flow: &ExternalFlow) -> Result<ProviderSignIn> {
    let parameter = |name| cx.request.query(name).unwrap_or_default();
    if !parameter("error").is_empty() {
        return Err(Error::oauth_from_provider(
            parameter("error").to_owned(),
            parameter("error_description").to_owned(),
        ));
    }
    let code = parameter("code");
    if code.is_empty() {
        let message = "OAuth callback with missing authorization code missing";
        return Err(Error::new(ErrorCode::BadOAuthCallback, message));
    }
    let ready = require_enabled(cx, flow).await?;
    let verifier = take_verifier(cx, flow, ready.config.uses_pkce).await?;
    let token = exchange_code(cx, &ready, code, verifier.as_deref()).await.map_err(|error| {
        let begin: String = code.chars().take(4).collect();
        Error::internal(format!("Unable to exchange external code: {begin}")).with_cause(error)
    })?;
    let profile = fetch_profile(cx, &ready, &token, None).await;
    let profile = profile
        .map_err(|error| Error::internal("Error getting user profile from external provider").with_cause(error))?;
    let profile = merge_posted_user(&ready, profile, &token, parameter("user"))?;
    Ok(ProviderSignIn { profile, access_token: token.access_token, refresh_token: token.refresh_token })
}

/// Merges the user data that the provider posts beside the code on the first sign-in.
///
/// As in GoTrue, posted user data without an ID token is an internal error.
fn merge_posted_user(
    ready: &ResolvedProvider,
    profile: ProviderProfile,
    token: &ProviderTokenResponse,
    posted: &str,
) -> Result<ProviderProfile> {
    if posted.is_empty() || !ready.enabled.provider.has_user_field() {
        return Ok(profile);
    }
    if !token.has_id_token() {
        return Err(Error::internal_server_error("user data was posted without an ID token"));
    }
    let read = ready.enabled.provider.apply_user_field(posted, profile);
    read.map_err(|bad| {
        Error::oauth(OAuthErrorCode::ServerError, "The user that was posted cannot be read").with_cause(bad)
    })
}

async fn complete_oauth1(cx: &RequestContext, flow: &ExternalFlow) -> Result<ProviderSignIn> {
    let ready = require_enabled(cx, flow).await?;
    let ProviderEndpoints::OAuth1 { access_token, .. } = &ready.config.endpoints else {
        return Err(Error::other("the provider no longer uses OAuth 1.0a"));
    };
    let parameter = |name| cx.request.query(name).unwrap_or_default();
    let authorized =
        oauth1::AuthorizedRequestToken { token: parameter("oauth_token"), verifier: parameter("oauth_verifier") };
    let token = oauth1::fetch_access_token(cx, &ready, access_token, authorized).await;
    let token = token.map_err(|error| Error::internal("Unable to retrieve access token").with_cause(error))?;
    let answer = ProviderTokenResponse { access_token: token.token.clone(), ..ProviderTokenResponse::default() };
    let profile = fetch_profile(cx, &ready, &answer, Some(&token)).await;
    let profile = profile.map_err(|error| Error::internal(NO_EMAIL).with_cause(error))?;
    Ok(ProviderSignIn { profile, access_token: token.token, refresh_token: String::new() })
}

/// Requires that the provider is still enabled.
async fn require_enabled(cx: &RequestContext, flow: &ExternalFlow) -> Result<ResolvedProvider> {
    resolve_provider(cx, &flow.provider).await.map_err(|reason| {
        let message = format!("Unsupported provider: {reason}");
        Error::new(ErrorCode::OAuthProviderNotSupported, message).with_cause(reason)
    })
}

/// Takes the stored PKCE verifier; it is consumed whatever follows.
async fn take_verifier(cx: &RequestContext, flow: &ExternalFlow, is_wanted: bool) -> Result<Option<String>> {
    let verifier = match flow.verifier {
        None => FlowVerifier::Absent,
        Some(id) => {
            let stored = oauth_client_states::take(&mut cx.db(), id).await;
            stored.or_internal_error("Failed to find OAuth state")?.map_or(FlowVerifier::Deleted, FlowVerifier::Stored)
        }
    };
    select_verifier(verifier, &flow.provider, is_wanted, cx.now)
}

/// Requests documents from the provider until they form a profile.
async fn fetch_profile(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    token: &ProviderTokenResponse,
    oauth1_token: Option<&OAuth1Token>,
) -> Result<ProviderProfile, ProviderError> {
    let (mut answers, mut id_token) = (Vec::new(), None);
    for _ in 0..MAX_STEPS {
        let known = ProfileContext {
            settings: &ready.enabled.settings,
            token,
            id_token: id_token.as_ref(),
            userinfo_url: ready.userinfo_url(),
            responses: &answers,
        };
        match ready.enabled.provider.next_step(&known)? {
            ProfileStep::Done(profile) => return Ok(*profile),
            ProfileStep::Fetch(wanted) => {
                answers.push(fetch_document(cx, ready, &wanted, token, oauth1_token).await?);
            }
            ProfileStep::CheckIdToken(check) => {
                id_token = Some(super::id_token::verify_id_token(cx, ready, token, &check).await?);
            }
        }
    }
    Err(ProviderError::TooManySteps)
}

async fn fetch_document(
    cx: &RequestContext,
    ready: &ResolvedProvider,
    wanted: &FetchRequest,
    token: &ProviderTokenResponse,
    oauth1_token: Option<&OAuth1Token>,
) -> Result<Document, ProviderError> {
    let mut request = Request::new(Method::GET, Url::parse(&wanted.url)?);
    for (name, value) in &wanted.headers {
        insert_header(&mut request, name, value)?;
    }
    let answer = if let Some(oauth1_token) = oauth1_token {
        oauth1::get_signed(cx, ready, request, oauth1_token).await?
    } else {
        insert_header(&mut request, "authorization", &authorization_header(token))?;
        send_provider_request(cx, &ready.enabled, "provider.person", request).await?
    };
    require_success(&answer)?;
    let read = if wanted.rejects_trailing_data { Document::parse } else { Document::parse_first };
    Ok(read(&answer.body).map_err(ProviderResponseError::from)?)
}
