//! The request that somebody wants to sign in, in the query of the address that the browser is sent to (SAML bindings,
//! section 3.4), and the row that waits for its answer.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::sso::start::takes_no_requests;
use gotrue_rules::domain::sso::{PERSISTENT, SsoProvider};
use gotrue_rules::wire::saml::AuthnRequest;
use url::form_urlencoded::byte_serialize;
use uuid::Uuid;

use super::{metadata, ourselves};
use crate::cx::Cx;
use crate::store::OrRefuse;
use crate::store::saml_relay_states::{self, NewRelayState};

/// Keeps that somebody is sent to the provider; the address to send the browser to. One statement.
pub async fn open(cx: &Cx, provider: &SsoProvider, redirect_to: &str, challenge: Option<&Challenge>) -> Result<String> {
    let destination = metadata::stored(provider)?.sign_on.ok_or_else(takes_no_requests)?;
    let id = format!("id-{}", hex(&cx.entropy.bytes::<20>()));
    let relay_state = cx.entropy.uuid();
    let address = address(cx, provider, &destination, &id, relay_state)?;
    let new = NewRelayState {
        id: relay_state,
        provider: provider.id,
        request_id: &id,
        redirect_to,
        flow: cx.entropy.uuid(),
        pkce: challenge.map(|challenge| (challenge, cx.entropy.uuid())),
        now: cx.now,
    };
    saml_relay_states::insert(&mut cx.db(), new).await.or_refuse("Error creating SAML relay state from sign up")?;
    Ok(address)
}

fn address(cx: &Cx, provider: &SsoProvider, destination: &str, id: &str, relay_state: Uuid) -> Result<String> {
    let us = ourselves(cx)?;
    let request = AuthnRequest {
        service: &us.service,
        id,
        destination,
        name_id_format: provider.saml.name_id_format.as_deref().unwrap_or(PERSISTENT),
        now: cx.now,
    };
    let failed = |cause| Error::internal("Error creating SAML authentication request redirect URL").because(cause);
    let how = cx.app.policy.saml.request_signature;
    let packed = STANDARD.encode(deflated(&request.xml()).map_err(|cause| failed(cause.into()))?);
    // Signed is what we say, as it is written, and not what the provider's own address says beside it.
    let said = format!("SAMLRequest={}&RelayState={relay_state}&SigAlg={}", escaped(&packed), escaped(how.uri()));
    let signature =
        us.key.sign(&said, how).map_err(|cause| failed(Box::<dyn std::error::Error + Send + Sync>::from(cause)))?;
    let bare = destination.split('#').next().unwrap_or_default();
    let mark = if bare.contains('?') { '&' } else { '?' };
    Ok(format!("{bare}{mark}{said}&Signature={}", escaped(&STANDARD.encode(signature))))
}

fn deflated(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

fn escaped(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
