//! The enveloped signature of the SAML identity provider.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::tokens;

/// The key and the certificate of the identity provider; test material.
const KEY: &str = include_str!("identity_provider.json");
/// The namespace of XML signatures.
pub(super) const SIGNATURE_NAMESPACE: &str = "http://www.w3.org/2000/09/xmldsig#";
/// The algorithm of exclusive canonical XML.
pub(super) const CANONICAL: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";

/// Returns the key and the certificate.
pub(super) fn key() -> Value {
    serde_json::from_str(KEY).unwrap_or_default()
}

pub(super) fn certificate() -> String {
    key()["certificate"].as_str().unwrap_or_default().to_owned()
}

/// An enveloped signature (RSA and SHA-256, exclusive canonical XML) over an element.
pub(super) fn sign(element: &str, reference: &str) -> String {
    let sum = STANDARD.encode(digest(&SHA256, element.as_bytes()));
    let namespace = format!(" xmlns:ds=\"{SIGNATURE_NAMESPACE}\"");
    let info = format!(
        "<ds:SignedInfo{namespace}><ds:CanonicalizationMethod Algorithm=\"{CANONICAL}\"></ds:CanonicalizationMethod>\
         <ds:SignatureMethod Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256\"></ds:SignatureMethod>\
         <ds:Reference URI=\"#{reference}\"><ds:Transforms>\
         <ds:Transform Algorithm=\"{SIGNATURE_NAMESPACE}enveloped-signature\"></ds:Transform>\
         <ds:Transform Algorithm=\"{CANONICAL}\"></ds:Transform></ds:Transforms>\
         <ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"></ds:DigestMethod>\
         <ds:DigestValue>{sum}</ds:DigestValue></ds:Reference></ds:SignedInfo>"
    );
    let value = STANDARD.encode(tokens::signature(info.as_bytes(), &key()).unwrap_or_default());
    // The signature covers the element with its own namespace declaration; inside ds:Signature it is inherited.
    let info = info.replacen(&namespace, "", 1);
    format!(
        "<ds:Signature{namespace}>{info}<ds:SignatureValue>{value}</ds:SignatureValue><ds:KeyInfo><ds:X509Data>\
         <ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></ds:Signature>",
        certificate()
    )
}
