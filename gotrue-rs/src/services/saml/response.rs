//! Verifies responses of identity providers against the server's and the operator's settings.
//!
//! The rules are in `crates/gotrue-rules/src/domain/saml`.

use aws_lc_rs::digest::{SHA256, digest};
use foundation::error::{Error, Result};
use gotrue_rules::domain::saml::assertion::Assertion;
use gotrue_rules::domain::saml::binding::invalid_assertion;
use gotrue_rules::domain::saml::certificate::Certificate;
use gotrue_rules::domain::saml::decryption::DecryptionKey;
use gotrue_rules::domain::saml::response::{ResponseCheck, find_valid_assertion};
use gotrue_rules::domain::saml::signature::TrustedSigners;
use gotrue_rules::domain::saml::validation::{CLOCK_SKEW, MAX_AGE, SamlExpectations};
use gotrue_rules::domain::sso::metadata::IdentityProvider;
use platform::store::Connection;

use super::service_provider;
use crate::ports::saml::SamlServiceProvider;
use crate::request_context::RequestContext;
use crate::store::saml_assertions;

/// Verifies a response of this identity provider and returns its assertion.
///
/// It answers `request`, or is IdP-initiated.
pub fn verify(cx: &RequestContext, provider: &IdentityProvider, xml: &str, request: Option<&str>) -> Result<Assertion> {
    let policy = &cx.app.policy.saml;
    let certificates: Vec<Certificate> =
        provider.certificates.iter().filter_map(|base64| Certificate::from_base64(base64)).collect();
    let saml = service_provider(cx)?;
    let expected = SamlExpectations {
        issuer: &provider.entity_id,
        recipient: &saml.service.acs_url,
        audience: &saml.service.entity_id,
        request_id: request,
        strict: policy.must_assertions_be_complete,
        now: cx.now,
    };
    let signers = TrustedSigners { certificates: &certificates, allows_sha1: !policy.is_sha1_rejected, now: cx.now };
    let keys = if policy.allow_encrypted_assertions { decryption_keys(saml) } else { Vec::new() };
    let quoted = Some(xml).filter(|_| !policy.is_rejected_response_hidden);
    find_valid_assertion(xml, &ResponseCheck { expected, signers, keys: &keys })
        .map_err(|refusal| invalid_assertion(refusal, quoted))
}

/// The current decryption key, then the next one, which identity providers may already use.
fn decryption_keys(saml: &SamlServiceProvider) -> Vec<DecryptionKey> {
    let all = std::iter::once(&saml.key).chain(&saml.next_key);
    all.filter_map(|key| DecryptionKey::from_pkcs1(key.der())).collect()
}

/// Consumes an assertion where each counts once; refuses one that was used.
///
/// It runs in the transaction of the sign-in, so that a failed sign-in can be retried.
pub async fn consume_assertion(cx: &RequestContext, db: &mut Connection, assertion: &Assertion) -> Result<()> {
    if !cx.app.policy.saml.are_assertions_single_use {
        return Ok(());
    }
    // After this time the assertion is refused in any case, including the clock tolerance.
    let ends_at = assertion.issue_instant.unwrap_or(cx.now) + MAX_AGE + CLOCK_SKEW;
    let digest = digest(&SHA256, format!("{}\n{}", assertion.issuer, assertion.id).as_bytes());
    if saml_assertions::consume(db, digest.as_ref(), ends_at, cx.now).await? {
        return Ok(());
    }
    Err(Error::invalid("SAML Assertion is not valid").with_cause("the assertion was used before"))
}
