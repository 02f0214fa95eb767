//! The requests of the recordings, and the form in which their answers are compared.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use postgrest_rs::service::DataApi;
use serde_json::{Map, Value, json};

use crate::comparison::{parse, print};

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
pub(crate) type Kept = HashMap<String, Value>;

/// A token as a scenario describes it.
fn sign(token: &Value, secret: &str) -> String {
    if let Some(raw) = token["raw"].as_str() {
        return raw.to_owned();
    }
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed();
    let resolve = |value: &Value| match value.as_str().and_then(|text| text.strip_prefix("now")) {
        Some(offset) => json!(now + offset.parse::<i64>().unwrap()),
        None => value.clone(),
    };
    let claims: Map<_, _> =
        token["claims"].as_object().unwrap().iter().map(|(name, value)| (name.clone(), resolve(value))).collect();
    let mut header = json!({"alg": "HS256", "typ": "JWT"});
    for (name, value) in token["header"].as_object().into_iter().flatten() {
        header[name] = value.clone();
    }
    let payload = token["payload"].as_str().map_or_else(|| Value::Object(claims).to_string(), str::to_owned);
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header.to_string()), URL_SAFE_NO_PAD.encode(payload));
    let key = jsonwebtoken::EncodingKey::from_secret(token["secret"].as_str().unwrap_or(secret).as_bytes());
    let signature = jsonwebtoken::crypto::sign(signed.as_bytes(), &key, jsonwebtoken::Algorithm::HS256).unwrap();
    format!("{signed}.{signature}")
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
pub(crate) async fn send(api: &DataApi, step: &Value, book: &Value, kept: &mut Kept) -> Value {
    let path = resolve(&step["path"], kept);
    let method = step["method"].as_str().unwrap();
    let mut request = Request::builder().method(method).uri(path.as_str().unwrap());
    if let Some(role) = step["role"].as_str() {
        let token = sign(&book["tokens"][role], book["secret"].as_str().unwrap());
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let fields = resolve(&step["headers"], kept);
    for (name, value) in fields.as_object().into_iter().flatten() {
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        for value in values {
            request = request.header(name, HeaderValue::from_bytes(value.as_str().unwrap().as_bytes()).unwrap());
        }
    }
    let has_type =
        fields.as_object().is_some_and(|fields| fields.keys().any(|field| field.eq_ignore_ascii_case("content-type")));
    let body = if step.get("json").is_some() {
        if !has_type {
            request = request.header("content-type", "application/json");
        }
        Bytes::from(print(&resolve(&step["json"], kept)))
    } else if step.get("text").is_some() {
        Bytes::from(resolve(&step["text"], kept).as_str().unwrap().to_owned())
    } else {
        Bytes::from(STANDARD.decode(step["base64"].as_str().unwrap_or_default()).unwrap())
    };
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let response = crate::api::collect(api.handle(&parts, body).await).await;
    describe(&response, method, step, kept)
}

/// The answer in the form that is recorded.
fn describe(response: &Response<Bytes>, method: &str, step: &Value, kept: &mut Kept) -> Value {
    let mut fields = Map::new();
    for name in COMPARED {
        let values: Vec<_> =
            response.headers().get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        if !values.is_empty() {
            fields.insert(name.to_owned(), values.join(", ").into());
        }
    }
    let is_json = fields.get("content-type").and_then(Value::as_str).is_some_and(|kind| kind.contains("json"));
    let mut answer = json!({"status": response.status().as_u16(), "headers": fields});
    // A response to HEAD, and one of these statuses, has no body on the wire.
    let has_body = method != "HEAD" && !matches!(response.status().as_u16(), 204 | 304);
    if !has_body || step["body"] == "any" || response.body().is_empty() {
        return answer;
    }
    match std::str::from_utf8(response.body()) {
        Ok(text) if is_json => match parse(text) {
            Some(document) => answer["json"] = select(document, step, kept),
            None => answer["base64"] = STANDARD.encode(response.body()).into(),
        },
        Ok(text) => answer["text"] = text.into(),
        Err(_) => answer["base64"] = STANDARD.encode(response.body()).into(),
    }
    mask(&answer, kept)
}

/// The parts of a document that are recorded. What the step keeps is noted.
fn select(mut document: Value, step: &Value, kept: &mut Kept) -> Value {
    for (name, path) in step["keep"].as_object().into_iter().flatten() {
        kept.insert(name.clone(), document.pointer(path.as_str().unwrap()).cloned().unwrap_or(Value::Null));
    }
    if let Some(members) = document.as_object_mut() {
        for name in step["omit"].as_array().into_iter().flatten() {
            members.remove(name.as_str().unwrap());
        }
    }
    match step["pick"].as_array() {
        Some(paths) => {
            let picked = paths.iter().map(|path| {
                let path = path.as_str().unwrap();
                (path.to_owned(), document.pointer(path).cloned().unwrap_or(Value::Null))
            });
            Value::Object(picked.collect())
        }
        None => document,
    }
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
