//! Metadata and signed responses of the identity provider.
//!
//! The XML is written in canonical form, so that the signed octets are the text itself.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use foundation::time::format_seconds;
use gotrue_rules::domain::saml::{ASSERTION, DSIG, METADATA, PROTOCOL};
use gotrue_rules::domain::sso::PERSISTENT;
use platform::saml_keys::{SamlKeyError, SamlSigningKey};
use serde_json::Value;
use uuid::Uuid;

use crate::scenario::{Deviation, Scenario};
use crate::users::ProviderUser;

const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
const SHA256_URI: &str = "http://www.w3.org/2001/04/xmlenc#sha256";
const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
/// How long an assertion is valid.
const LIFETIME: TimeDelta = TimeDelta::minutes(5);
/// How long before its issue an assertion is valid.
const LEEWAY: TimeDelta = TimeDelta::minutes(1);

pub(super) struct ResponseContent<'a> {
    /// The entity id of the identity provider.
    pub entity_id: String,
    /// The assertion consumer service.
    pub consumer_url: String,
    /// The entity id of the service provider.
    pub audience: String,
    /// `InResponseTo`.
    pub request_id: String,
    /// The ids of response and assertion.
    pub ids: [Uuid; 2],
    /// The user; `None` in a denial.
    pub user: Option<&'a ProviderUser>,
    /// The time of issue.
    pub now: DateTime<Utc>,
    /// What is unusual about the sign-in.
    pub deviation: Deviation,
}

/// Formats the metadata of the identity provider (SAML 2.0 Metadata §2.4.3).
pub(super) fn format_metadata(entity_id: &str, certificate: &str, sign_on_url: &str) -> String {
    format!(
        "<EntityDescriptor xmlns=\"{METADATA}\" entityID=\"{}\"><IDPSSODescriptor \
         protocolSupportEnumeration=\"{PROTOCOL}\"><KeyDescriptor use=\"signing\"><KeyInfo xmlns=\"{DSIG}\"><X509Data>\
         <X509Certificate>{certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService \
         Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect\" Location=\"{}\"></SingleSignOnService>\
         </IDPSSODescriptor></EntityDescriptor>",
        escape_canonical(entity_id),
        escape_canonical(sign_on_url)
    )
}

/// Formats a response with a signed assertion, or without one if there is no user.
///
/// # Errors
///
/// Fails if nothing can be signed with the key.
pub(super) fn format_response(content: &ResponseContent<'_>, key: &SamlSigningKey) -> Result<String, SamlKeyError> {
    let [id, _] = content.ids;
    let (status, assertion) = match content.user {
        Some(user) => {
            let unsigned = format_assertion(content, user);
            ("Success", sign_assertion(&unsigned, content, key)?)
        }
        None => ("Responder", String::new()),
    };
    Ok(format!(
        "<samlp:Response xmlns:samlp=\"{PROTOCOL}\" Destination=\"{destination}\" ID=\"_{id}\" \
         InResponseTo=\"{request}\" IssueInstant=\"{issued}\" Version=\"2.0\"><saml:Issuer \
         xmlns:saml=\"{ASSERTION}\">{issuer}</saml:Issuer><samlp:Status><samlp:StatusCode \
         Value=\"urn:oasis:names:tc:SAML:2.0:status:{status}\"></samlp:StatusCode></samlp:Status>{assertion}\
         </samlp:Response>",
        destination = escape_canonical(&content.consumer_url),
        request = escape_canonical(&content.request_id),
        issued = format_seconds(content.now),
        issuer = escape_canonical(&content.entity_id),
    ))
}

/// Formats the assertion, without a signature (SAML 2.0 Core §2.3.3).
fn format_assertion(content: &ResponseContent<'_>, user: &ProviderUser) -> String {
    let [_, id] = content.ids;
    let is_expired = content.deviation.is(Scenario::ExpiredCode);
    // Receivers allow for clock skew, so an expired one has been so for an hour.
    let now = if is_expired { content.now - TimeDelta::hours(1) } else { content.now };
    format!(
        "<saml:Assertion xmlns:saml=\"{ASSERTION}\" ID=\"_{id}\" IssueInstant=\"{issued}\" Version=\"2.0\"><saml:Issuer>\
         {issuer}</saml:Issuer><saml:Subject><saml:NameID Format=\"{PERSISTENT}\">{name}</saml:NameID>\
         <saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:bearer\"><saml:SubjectConfirmationData \
         InResponseTo=\"{request}\" NotOnOrAfter=\"{until}\" Recipient=\"{recipient}\"></saml:SubjectConfirmationData>\
         </saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore=\"{from}\" NotOnOrAfter=\"{until}\">\
         <saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction>\
         </saml:Conditions><saml:AuthnStatement AuthnInstant=\"{issued}\"></saml:AuthnStatement>\
         <saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion>",
        issued = format_seconds(now),
        issuer = escape_canonical(&content.entity_id),
        name = escape_canonical(&user.subject),
        request = escape_canonical(&content.request_id),
        until = format_seconds(now + LIFETIME),
        recipient = escape_canonical(&content.consumer_url),
        from = format_seconds(now - LEEWAY),
        audience = escape_canonical(&content.audience),
        attributes = format_attributes(user),
    )
}

/// Formats the address as `mail`, the name, and each claim of text as an attribute.
fn format_attributes(user: &ProviderUser) -> String {
    let attribute = |name: &str, values: &[&str]| {
        let values: Vec<_> = values
            .iter()
            .map(|value| format!("<saml:AttributeValue>{}</saml:AttributeValue>", escape_canonical(value)))
            .collect();
        format!("<saml:Attribute Name=\"{}\">{}</saml:Attribute>", escape_canonical(name), values.concat())
    };
    let mut attributes = Vec::new();
    if !user.email.is_empty() {
        attributes.push(attribute("mail", &[&user.email]));
    }
    if !user.claims.contains_key("displayName") {
        attributes.push(attribute("displayName", &[&user.name]));
    }
    for (name, claim) in &user.claims {
        match claim {
            Value::String(text) => attributes.push(attribute(name, &[text])),
            Value::Array(all) => {
                let texts: Vec<_> = all.iter().filter_map(Value::as_str).collect();
                attributes.push(attribute(name, &texts));
            }
            _ => {}
        }
    }
    attributes.concat()
}

/// Inserts the signature after the issuer (XML Signature §3.1).
fn sign_assertion(
    assertion: &str,
    content: &ResponseContent<'_>,
    key: &SamlSigningKey,
) -> Result<String, SamlKeyError> {
    let [_, id] = content.ids;
    let value = STANDARD.encode(digest(&SHA256, assertion.as_bytes()));
    let inside = format!(
        "<ds:CanonicalizationMethod Algorithm=\"{EXCLUSIVE}\"></ds:CanonicalizationMethod><ds:SignatureMethod \
         Algorithm=\"{RSA_SHA256}\"></ds:SignatureMethod><ds:Reference URI=\"#_{id}\"><ds:Transforms><ds:Transform \
         Algorithm=\"{ENVELOPED}\"></ds:Transform><ds:Transform Algorithm=\"{EXCLUSIVE}\"></ds:Transform></ds:Transforms>\
         <ds:DigestMethod Algorithm=\"{SHA256_URI}\"></ds:DigestMethod><ds:DigestValue>{value}</ds:DigestValue>\
         </ds:Reference></ds:SignedInfo>"
    );
    // A signature of something else is as invalid as that of another key.
    let prefix = if content.deviation.is(Scenario::BadSignature) { "x" } else { "" };
    let signature = key.sign(&format!("{prefix}<ds:SignedInfo xmlns:ds=\"{DSIG}\">{inside}"))?;
    let signature = format!(
        "<ds:Signature xmlns:ds=\"{DSIG}\"><ds:SignedInfo>{inside}<ds:SignatureValue>{}</ds:SignatureValue><ds:KeyInfo>\
         <ds:X509Data><ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></ds:Signature>",
        STANDARD.encode(signature),
        key.certificate()
    );
    Ok(assertion.replacen("</saml:Issuer>", &format!("</saml:Issuer>{signature}"), 1))
}

/// Escapes a text for an element, or an attribute without quotation marks, as Canonical XML does.
/// Control characters and quotation marks are left out, since their canonical form depends on the place.
fn escape_canonical(text: &str) -> String {
    let kept: String = text.chars().filter(|character| !character.is_control() && *character != '"').collect();
    kept.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_in_canonical_form() {
        assert_eq!(escape_canonical("a<b>&\"c'\r\n"), "a&lt;b&gt;&amp;c'");
    }
}
