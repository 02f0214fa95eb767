//! A SAML identity provider: metadata, authentication requests, and responses that a flow can falsify.
//!
//! What it emits is canonical XML already: every element opens and closes, attributes are sorted, and namespaces are declared
//! where a signature starts. Signing therefore needs no canonicalisation.

use std::io::Read;

use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::saml_response::Response;
use super::saml_signature::{SIGNATURE_NAMESPACE, certificate};
use super::xml;
use crate::FlowError;
use crate::text::{decode, parse_pairs, split_url};

const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
/// The longest authentication request.
const MAX_REQUEST: u64 = 1 << 20;

/// Answers a call; `None` if the name is none of SAML.
pub(super) fn call(name: &str, arguments: &Value, base: &str, now: f64) -> Result<Option<Value>, FlowError> {
    let of = Arguments::new(name, arguments);
    Ok(Some(match name {
        "saml_metadata" => metadata(arguments).into(),
        "saml_request" => parse_request(of.text(0)?).ok_or_else(|| of.wanted("[URL of a redirect]"))?,
        "saml_signed_by" => is_signed_by(of.text(0)?, of.text(1)?).unwrap_or(false).into(),
        "saml_response" => STANDARD.encode(Response::new(arguments, base, now).to_xml()).into(),
        _ => return Ok(None),
    }))
}

fn metadata(arguments: &Value) -> String {
    let text = |name: &str, default: &'static str| arguments[name].as_str().unwrap_or(default).to_owned();
    let key = format!(
        "<KeyDescriptor use=\"signing\"><KeyInfo xmlns=\"{SIGNATURE_NAMESPACE}\"><X509Data><X509Certificate>{}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>",
        certificate()
    );
    let service = format!(
        "<SingleSignOnService Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect\" Location=\"{}\"></SingleSignOnService>",
        text("sign_on", "https://idp.example.com/sso")
    );
    let descriptor =
        format!("<IDPSSODescriptor protocolSupportEnumeration=\"{PROTOCOL}\">{key}{service}</IDPSSODescriptor>");
    let times = arguments["descriptors"].as_u64().and_then(|times| usize::try_from(times).ok()).unwrap_or(1);
    format!(
        "<EntityDescriptor xmlns=\"urn:oasis:names:tc:SAML:2.0:metadata\" entityID=\"{}\"{}>{}</EntityDescriptor>",
        text("entity", "https://idp.example.com/metadata"),
        text("extra", ""),
        descriptor.repeat(times.min(16))
    )
}

/// Reads the authentication request of a redirect.
fn parse_request(url: &str) -> Option<Value> {
    let query = split_url(url).query;
    let pairs = parse_pairs(query);
    let find = |wanted: &str| pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let compressed = STANDARD.decode(find("SAMLRequest")?).ok()?;
    let mut text = String::new();
    DeflateDecoder::new(compressed.as_slice()).take(MAX_REQUEST).read_to_string(&mut text).ok()?;
    let root = xml::parse(&text)?;
    let attribute = |name: &str| root["attributes"][name].clone();
    Some(json!({
        "query": query,
        "relay_state": find("RelayState"),
        "algorithm": find("SigAlg"),
        "xml": text,
        "id": attribute("ID"),
        "facts": {
            "acs": attribute("AssertionConsumerServiceURL"),
            "destination": attribute("Destination"),
            "binding": attribute("ProtocolBinding"),
            "issuer": xml::find(&root, "Issuer", false)?["text"],
            "policy": xml::find(&root, "NameIDPolicy", false).map(|policy| policy["attributes"].clone()),
            "force authn": attribute("ForceAuthn"),
            "signed with": find("SigAlg"),
            "signature": find("Signature").is_some(),
        },
    }))
}

/// Returns whether a redirect is signed with a private key in base64 of PKCS #1.
fn is_signed_by(url: &str, key: &str) -> Option<bool> {
    let (text, signature) = split_url(url).query.split_once("&Signature=")?;
    let pair = KeyPair::from_der(&STANDARD.decode(key).ok()?).ok()?;
    let is_sha1 = decode(text).ends_with("-sha1");
    let algorithm = if is_sha1 { &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY } else { &RSA_PKCS1_2048_8192_SHA256 };
    let signature = STANDARD.decode(decode(signature)).ok()?;
    Some(UnparsedPublicKey::new(algorithm, pair.public_key().as_ref()).verify(text.as_bytes(), &signature).is_ok())
}
