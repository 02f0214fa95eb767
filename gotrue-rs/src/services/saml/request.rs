//! Authentication requests in the HTTP-Redirect binding (SAML bindings §3.4), and their relay state.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use foundation::error::{Error, Result};
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::sso::start::redirect_binding_unsupported;
use gotrue_rules::domain::sso::{PERSISTENT, SsoProvider};
use gotrue_rules::wire::saml::AuthnRequest;
use platform::store::OrInternalError;
use url::form_urlencoded::byte_serialize;
use uuid::Uuid;

use super::{metadata, service_provider};
use crate::request_context::RequestContext;
use crate::store::saml_relay_states::{self, NewRelayState};

/// Stores the relay state and returns the URL of the authentication request; one statement.
pub async fn create_request(
    cx: &RequestContext,
    provider: &SsoProvider,
    redirect_to: &str,
    challenge: Option<&Challenge>,
) -> Result<String> {
    let destination = metadata::parse_stored(provider)?.sign_on_url.ok_or_else(redirect_binding_unsupported)?;
    let id = format!("id-{}", hex::encode(cx.entropy.bytes::<20>()));
    let relay_state = cx.entropy.uuid();
    let address = request_url(cx, provider, &destination, &id, relay_state)?;
    let new = NewRelayState {
        id: relay_state,
        provider: provider.id,
        request_id: &id,
        redirect_to,
        flow: cx.entropy.uuid(),
        pkce: challenge.map(|challenge| (challenge, cx.entropy.uuid())),
        now: cx.now,
    };
    saml_relay_states::insert(&mut cx.db(), new)
        .await
        .or_internal_error("Error creating SAML relay state from sign up")?;
    Ok(address)
}

fn request_url(
    cx: &RequestContext,
    provider: &SsoProvider,
    destination: &str,
    id: &str,
    relay_state: Uuid,
) -> Result<String> {
    let saml = service_provider(cx)?;
    let request = AuthnRequest {
        service: &saml.service,
        id,
        destination,
        name_id_format: provider.saml.name_id_format.as_deref().unwrap_or(PERSISTENT),
        now: cx.now,
    };
    let failed = |cause| Error::internal("Error creating SAML authentication request redirect URL").with_cause(cause);
    let how = cx.app.policy.saml.request_signature;
    let packed = STANDARD.encode(deflate(&request.xml()).map_err(|cause| failed(cause.into()))?);
    // The signature covers these parameters as they are encoded, not the query of the provider's own URL.
    let query = format!(
        "SAMLRequest={}&RelayState={relay_state}&SigAlg={}",
        percent_encode(&packed),
        percent_encode(how.uri())
    );
    let signature =
        saml.key.sign(&query, how).map_err(|cause| failed(Box::<dyn std::error::Error + Send + Sync>::from(cause)))?;
    let bare = destination.split('#').next().unwrap_or_default();
    let separator = if bare.contains('?') { '&' } else { '?' };
    Ok(format!("{bare}{separator}{query}&Signature={}", percent_encode(&STANDARD.encode(signature))))
}

fn deflate(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

fn percent_encode(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}
