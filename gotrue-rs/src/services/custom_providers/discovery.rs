//! The discovery document of a provider that an administrator describes, looked at before it is stored.

use gotrue_rules::domain::custom_provider::{CustomProvider, Discovered, Protocol};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::external::answer;
use http::StatusCode;

use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::http_client::Trust;
use crate::ports::oidc::{OidcError, Source};

/// What the provider's document says at this moment, put into the provider; nothing for OAuth 2.0. 400 if it cannot be
/// had, is another issuer's, or lacks what a sign-in needs.
pub async fn look_up(cx: &Cx, provider: &mut CustomProvider) -> Result<()> {
    let Some(source) = source(&provider.protocol) else { return Ok(()) };
    let at = source.document.clone().unwrap_or_default();
    cx.journal.note(Step::Call("discovery"));
    let found = cx.app.oidc.look_up(&source).await.map_err(|error| refused(&at, error))?;
    if found.issuer != source.issuer {
        return Err(refused(&at, OidcError::OtherIssuer { expected: source.issuer, got: found.issuer }));
    }
    let missing: Vec<&str> = [
        ("authorization_endpoint", &found.authorization_endpoint),
        ("token_endpoint", &found.token_endpoint),
        ("jwks_uri", &found.jwks_uri),
    ]
    .into_iter()
    .filter_map(|(name, url)| url.is_empty().then_some(name))
    .collect();
    if !missing.is_empty() {
        let words = format!("OIDC discovery document is missing required fields: {}", missing.join(", "));
        return Err(Error::invalid(words));
    }
    let kept = answer::read::<Discovered>(&found.document);
    let kept = kept.map_err(|error| refused(&at, OidcError::NoDocument(error.to_string())))?;
    if let Protocol::Oidc { discovered, .. } = &mut provider.protocol {
        *discovered = Some(Box::new(kept));
    }
    Ok(())
}

/// What is remembered of a provider's issuer is no longer to be used.
pub fn forget(cx: &Cx, protocol: &Protocol) {
    if let Some(source) = source(protocol) {
        cx.app.oidc.forget(&source);
    }
}

fn source(protocol: &Protocol) -> Option<Source> {
    let Protocol::Oidc { issuer, .. } = protocol else { return None };
    Some(Source { issuer: issuer.clone(), document: protocol.document(), trust: Trust::Stranger })
}

fn refused(at: &str, error: OidcError) -> Error {
    let why = match &error {
        OidcError::Status { status, .. } => {
            let reason = StatusCode::from_u16(*status).ok().and_then(|status| status.canonical_reason());
            format!("discovery request to {at} returned {status} {}", reason.unwrap_or_default())
        }
        OidcError::OtherIssuer { expected, got } => format!("issuer mismatch, expected {expected:?} got {got:?}"),
        OidcError::NoDocument(why) => format!("failed to decode discovery document from {at}: {why}"),
        _ => format!("discovery request to {at} failed: nobody answered at a public address"),
    };
    Error::invalid(format!("OIDC discovery from {at:?} failed: oidc: {why}")).because(error)
}
