//! The requests of the scenarios, and the form in which their answers are compared.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use platform::clock::{Clock, SystemClock};
use serde_json::{Map, Value, json};

use super::comparison::{parse, print};
use crate::FlowError;
use crate::runner::{ExactRequest, ReceivedResponse, send_exactly};
use crate::tokens::sign_parts;

/// The header fields that are compared.
const COMPARED: [&str; 20] = [
    "content-type",
    "content-range",
    "content-location",
    "location",
    "preference-applied",
    "allow",
    "www-authenticate",
    "proxy-status",
    "content-profile",
    "range-unit",
    "access-control-allow-origin",
    "access-control-allow-methods",
    "access-control-allow-credentials",
    "access-control-max-age",
    "x-berth",
    "cache-control",
    "x-tide",
    "x-stamp",
    "retry-after",
    "vary",
];

/// Values that steps keep for later ones, by name.
pub(super) type Kept = HashMap<String, Value>;

/// A server with the secret and the tokens of the scenarios.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer<'a> {
    /// The base URL.
    pub base: &'a str,
    pub secret: &'a str,
    /// Tokens by name.
    pub tokens: &'a Value,
}

/// A token as a scenario describes it.
fn sign(token: &Value, secret: &str) -> String {
    if let Some(raw) = token["raw"].as_str() {
        return raw.to_owned();
    }
    let now = SystemClock.now().timestamp();
    let resolve = |value: &Value| match value.as_str().and_then(|text| text.strip_prefix("now")) {
        Some(offset) => json!(now + offset.parse::<i64>().unwrap_or_default()),
        None => value.clone(),
    };
    let claims = token["claims"].as_object().into_iter().flatten();
    let claims: Map<_, _> = claims.map(|(name, value)| (name.clone(), resolve(value))).collect();
    let mut header = json!({"alg": "HS256", "typ": "JWT"});
    for (name, value) in token["header"].as_object().into_iter().flatten() {
        header[name] = value.clone();
    }
    let payload = token["payload"].as_str().map_or_else(|| Value::Object(claims).to_string(), str::to_owned);
    sign_parts(&header.to_string(), &payload, token["secret"].as_str().unwrap_or(secret))
}

/// The value with `{{name}}` replaced by what an earlier step kept.
fn resolve(value: &Value, kept: &Kept) -> Value {
    match value {
        Value::String(text) => {
            let whole = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
            if let Some(value) = whole.and_then(|name| kept.get(name)) {
                return value.clone();
            }
            let mut text = text.clone();
            for (name, value) in kept {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text = text.replace(&format!("{{{{{name}}}}}"), &value);
            }
            Value::String(text)
        }
        Value::Array(values) => values.iter().map(|value| resolve(value, kept)).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), resolve(value, kept))).collect())
        }
        other => other.clone(),
    }
}

/// Sends a step and returns the answer in the form that is recorded.
pub(super) async fn send(peer: Peer<'_>, step: &Value, kept: &mut Kept) -> Result<Value, FlowError> {
    let broken = |problem: &dyn std::fmt::Display| FlowError::new(problem.to_string(), "restore the scenario");
    let path = resolve(&step["path"], kept);
    let url = format!("{}{}", peer.base, path.as_str().unwrap_or_default());
    let name = step["method"].as_str().unwrap_or_default();
    let method = Method::from_bytes(name.as_bytes()).map_err(|error| broken(&error))?;
    let mut headers = HeaderMap::new();
    if let Some(role) = step["role"].as_str() {
        let token = HeaderValue::try_from(format!("Bearer {}", sign(&peer.tokens[role], peer.secret)));
        headers.insert(AUTHORIZATION, token.map_err(|error| broken(&error))?);
    }
    let fields = resolve(&step["headers"], kept);
    for (name, value) in fields.as_object().into_iter().flatten() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| broken(&error))?;
        let values = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let value = HeaderValue::from_bytes(value.as_str().unwrap_or_default().as_bytes());
            headers.append(name.clone(), value.map_err(|error| broken(&error))?);
        }
    }
    let content = if step.get("json").is_some() {
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        print(&resolve(&step["json"], kept)).into_bytes()
    } else if step.get("text").is_some() {
        resolve(&step["text"], kept).as_str().unwrap_or_default().as_bytes().to_vec()
    } else {
        STANDARD.decode(step["base64"].as_str().unwrap_or_default()).map_err(|error| broken(&error))?
    };
    let request = ExactRequest { method: &method, url: &url, headers: &headers, content: &content };
    let response = send_exactly(&request).await;
    let response = response.map_err(|problem| FlowError::new(problem, "its log is in the folder of the logs"))?;
    Ok(describe(&response, name, step, kept))
}

/// The answer in the form that is recorded.
fn describe(response: &ReceivedResponse, method: &str, step: &Value, kept: &mut Kept) -> Value {
    let mut fields = Map::new();
    for name in COMPARED {
        let values = response.headers.get_all(name).iter();
        let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        if !values.is_empty() {
            fields.insert(name.to_owned(), values.join(", ").into());
        }
    }
    let is_json = fields.get("content-type").and_then(Value::as_str).is_some_and(|kind| kind.contains("json"));
    let mut answer = json!({"status": response.status, "headers": fields});
    // A response to HEAD, and one of these statuses, has no body on the wire.
    let has_body = method != "HEAD" && !matches!(response.status, 204 | 304);
    if !has_body || step["body"] == "any" || response.body.is_empty() {
        return answer;
    }
    match std::str::from_utf8(&response.body) {
        Ok(text) if is_json => match parse(text) {
            Some(document) => answer["json"] = select(document, step, kept),
            None => answer["base64"] = STANDARD.encode(&response.body).into(),
        },
        Ok(text) => answer["text"] = text.into(),
        Err(_) => answer["base64"] = STANDARD.encode(&response.body).into(),
    }
    mask(&answer, kept)
}

/// The parts of a document that are recorded. What the step keeps is noted.
fn select(mut document: Value, step: &Value, kept: &mut Kept) -> Value {
    for (name, path) in step["keep"].as_object().into_iter().flatten() {
        kept.insert(name.clone(), point(&document, path).1);
    }
    if let Some(members) = document.as_object_mut() {
        for name in step["omit"].as_array().into_iter().flatten() {
            members.remove(name.as_str().unwrap_or_default());
        }
    }
    match step["pick"].as_array() {
        Some(paths) => {
            let picked = paths.iter().map(|path| point(&document, path));
            Value::Object(picked.collect())
        }
        None => document,
    }
}

/// The path and what is there in a document.
fn point(document: &Value, path: &Value) -> (String, Value) {
    let path = path.as_str().unwrap_or_default();
    (path.to_owned(), document.pointer(path).cloned().unwrap_or(Value::Null))
}

/// The value with kept texts shown by their names.
fn mask(value: &Value, kept: &Kept) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (name, value) in kept {
                if let Some(value) = value.as_str().filter(|value| value.len() > 15) {
                    text = text.replace(value, &format!("{{{{{name}}}}}"));
                }
            }
            Value::String(text)
        }
        Value::Array(values) => values.iter().map(|value| mask(value, kept)).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), mask(value, kept))).collect())
        }
        other => other.clone(),
    }
}
