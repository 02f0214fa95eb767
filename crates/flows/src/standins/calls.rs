//! What services were asked.
//!
//! These are calls of hooks with their signatures, and requests to providers with their credentials.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::text::{decode, parse_pairs, split_origin, split_url};

/// Headers of hooks that are facts.
const HOOK_HEADERS: [&str; 4] = ["content-type", "accept-encoding", "webhook-id", "authorization"];

/// A call of a hook as facts; `secrets` are those of its settings, separated by `|`.
pub(super) fn hook_facts(call: &Value, secrets: &str) -> Value {
    let header = |name: &str| call["headers"][name].as_str().unwrap_or_default();
    let body = call["body"].as_str().unwrap_or_default();
    let message = format!("{}.{}.{body}", header("webhook-id"), header("webhook-timestamp"));
    let sent: Vec<&str> = header("webhook-signature").split(", ").collect();
    let secrets: Vec<&str> = secrets.split('|').filter(|secret| !secret.is_empty()).collect();
    let signatures: Value = if secrets.len() == sent.len() {
        secrets.iter().zip(&sent).map(|(secret, got)| Value::from(sign(secret, &message) == **got)).collect()
    } else {
        sent.into()
    };
    let shown = call["headers"].as_object().into_iter().flatten();
    let headers: Map<String, Value> = shown
        .filter(|(name, _)| HOOK_HEADERS.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    json!({
        "method": call["method"],
        "headers": headers,
        "timestamp": header("webhook-timestamp"),
        "signatures": signatures,
        "payload": serde_json::from_str::<Value>(body).unwrap_or_default(),
    })
}

/// The signature of Standard Webhooks with a secret `v1,whsec_…`.
fn sign(secret: &str, message: &str) -> String {
    let key = STANDARD.decode(secret.trim_start_matches("v1,whsec_")).unwrap_or_default();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), message.as_bytes());
    format!("v1,{}", STANDARD.encode(tag))
}

/// A request to a provider as facts, with decoded credentials.
pub(super) fn provider_facts(call: &Value) -> Value {
    let parts = split_url(call["path"].as_str().unwrap_or_default());
    let (origin, path) = split_origin(parts.base).unwrap_or(("", parts.base));
    let header = |name: &str| call["headers"][name].as_str();
    let mut facts = Map::new();
    facts.insert("method".to_owned(), call["method"].clone());
    facts.insert("path".to_owned(), path.into());
    if let Some((_, host)) = origin.split_once("://") {
        facts.insert("host".to_owned(), host.into());
    }
    if !parts.query.is_empty() {
        facts.insert("query".to_owned(), pairs(parts.query));
    }
    if let Some(credentials) = header("authorization").filter(|text| !text.is_empty()) {
        facts.insert("authorization".to_owned(), show_credentials(credentials));
    }
    for name in ["notion-version", "client-id"] {
        if let Some(value) = header(name) {
            facts.insert(name.to_owned(), value.into());
        }
    }
    let body = call["body"].as_str().unwrap_or_default();
    if header("content-type").is_some_and(|kind| kind.contains("json")) && !body.is_empty() {
        facts.insert("json".to_owned(), serde_json::from_str(body).unwrap_or_default());
    } else if !body.is_empty() {
        facts.insert("form".to_owned(), pairs(body));
    }
    Value::Object(facts)
}

fn pairs(text: &str) -> Value {
    Value::Object(parse_pairs(text).into_iter().map(|(name, value)| (name, value.into())).collect())
}

fn show_credentials(header: &str) -> Value {
    let (kind, rest) = header.split_once(' ').unwrap_or((header, ""));
    match kind {
        "Basic" => {
            let decoded = STANDARD.decode(rest).unwrap_or_default();
            format!("Basic {}", String::from_utf8_lossy(&decoded)).into()
        }
        "OAuth" => json!({ "OAuth": oauth1(rest) }),
        _ => format!("{kind} {rest}").into(),
    }
}

/// Parameters of OAuth 1.0a (RFC 5849 §3.5.1), with the volatile ones by name only.
fn oauth1(header: &str) -> Value {
    let pairs = header.split(',').filter_map(|part| part.trim().split_once('='));
    let shown = pairs.map(|(name, value)| {
        let is_volatile = matches!(name, "oauth_nonce" | "oauth_timestamp" | "oauth_signature");
        let value = if is_volatile { "<set>".to_owned() } else { decode(&value.trim_matches('"').replace('+', "%2B")) };
        (name.to_owned(), value.into())
    });
    Value::Object(shown.collect())
}
