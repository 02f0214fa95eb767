//! Responses of identity providers, checked with what this server and the operator know. The rules are in
//! `gotrue-rules/src/domain/saml`.

use aws_lc_rs::digest::{SHA256, digest};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::saml::acceptance::{Expected, OLDEST, TOLERANCE};
use gotrue_rules::domain::saml::assertion::Assertion;
use gotrue_rules::domain::saml::certificate::Certificate;
use gotrue_rules::domain::saml::decryption::ReadingKey;
use gotrue_rules::domain::saml::delivery::refused;
use gotrue_rules::domain::saml::response::{Check, accepted};
use gotrue_rules::domain::saml::signature::Signers;
use gotrue_rules::domain::sso::metadata::IdentityProvider;

use super::ourselves;
use crate::cx::Cx;
use crate::ports::saml::SamlIdentity;
use crate::store::{Connection, saml_assertions};

/// The assertion of a response by this identity provider: to that request, or to none where the provider started.
pub fn verify(cx: &Cx, provider: &IdentityProvider, xml: &str, request: Option<&str>) -> Result<Assertion> {
    let policy = &cx.app.policy.saml;
    let certificates: Vec<Certificate> = provider.certificates.iter().filter_map(|it| Certificate::read(it)).collect();
    let us = ourselves(cx)?;
    let expected = Expected {
        issuer: &provider.entity_id,
        recipient: &us.service.acs,
        audience: &us.service.entity_id,
        request,
        strict: policy.assertions_must_be_complete,
        now: cx.now,
    };
    let signers = Signers { certificates: &certificates, sha1: !policy.sha1_refused, now: cx.now };
    let keys = if policy.allow_encrypted_assertions { reading_keys(us) } else { Vec::new() };
    let quoted = Some(xml).filter(|_| !policy.refused_response_withheld);
    accepted(xml, &Check { expected, signers, keys: &keys }).map_err(|refusal| refused(refusal, quoted))
}

/// The key in use, then the one that will follow: who has read of it may use it already.
fn reading_keys(us: &SamlIdentity) -> Vec<ReadingKey> {
    let all = std::iter::once(&us.key).chain(&us.next);
    all.filter_map(|key| ReadingKey::of_pkcs1(key.der())).collect()
}

/// Uses an assertion up where each counts once; refused if it has signed in before. Within the transaction of the sign-in:
/// one that fails may be tried again.
pub async fn use_up(cx: &Cx, db: &mut Connection, assertion: &Assertion) -> Result<()> {
    if !cx.app.policy.saml.assertions_count_once {
        return Ok(());
    }
    // Later nobody would accept it, however much clocks differ.
    let ends_at = assertion.issued.unwrap_or(cx.now) + OLDEST + TOLERANCE;
    let digest = digest(&SHA256, format!("{}\n{}", assertion.issuer, assertion.id).as_bytes());
    if saml_assertions::use_up(db, digest.as_ref(), ends_at, cx.now).await? {
        return Ok(());
    }
    Err(Error::invalid("SAML Assertion is not valid").because("it has signed in before"))
}
