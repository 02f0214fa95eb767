//! Turns a recorded request into one with placeholders. Nothing that is no word of the API remains.

use http_edge::request::APIKEY;
use serde_json::{Value, json};

use super::exchange::{Exchange, RecordedBody};
use super::plain::{is_date, is_name, is_path_segment};
use super::session::FlowSession;
use super::texts::{MAX_TEXT, encode_outside_placeholders, text};
use super::values::value;
use super::{content, data, infer, object_bodies, objects};
use crate::format::{RequestBody, RequestStep, Service};
use crate::symbols::jwt_claims;
use crate::text::{parse_pairs, split_url};

pub(super) fn build(session: &mut FlowSession, exchange: &Exchange) -> RequestStep {
    if !exchange.service.has_user_content() {
        infer::prepare(session, exchange);
    }
    let mut step = RequestStep {
        method: exchange.method.clone(),
        path: match exchange.service {
            Service::Rest => data::path(session, exchange),
            Service::Storage => objects::path(session, exchange),
            Service::Auth | Service::Functions => path(session, exchange),
        },
        service: exchange.service,
        repeat: 1,
        ..RequestStep::default()
    };
    headers(session, exchange, &mut step);
    step.body = match exchange.service {
        Service::Storage => object_bodies::body(session, exchange, &mut step.headers),
        _ => body(session, exchange),
    };
    step
}

/// Returns the path with placeholders.
fn path(session: &mut FlowSession, exchange: &Exchange) -> String {
    let parts = split_url(&exchange.path);
    let mut path = String::new();
    for (at, segment) in parts.base.split('/').skip(1).enumerate() {
        path.push('/');
        let decoded = percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned();
        // The first segment is the name of the function; the others can be names of users and codes.
        let is_function = at == 0 && exchange.service == Service::Functions;
        let is_plain = is_path_segment(&decoded) || (is_function && is_name(&decoded));
        if decoded.is_empty() || (is_plain && session.known.find(&decoded).is_none()) {
            path.push_str(segment);
        } else {
            path.push_str(&text(session, &decoded, "path"));
        }
    }
    let pairs = parse_pairs(parts.query);
    let mut separator = '?';
    for (name, value) in pairs {
        if name == APIKEY.as_str() || infer::is_provider_detail(exchange, &name) {
            continue;
        }
        let name = if is_name(&name) { name } else { text(session, &name, "name") };
        path.push(separator);
        separator = '&';
        path.push_str(&name);
        path.push('=');
        let filled = text(session, &value, &name);
        path.push_str(&encode_outside_placeholders(&filled));
    }
    path
}

/// Adds key, access token and the headers that belong to the API.
fn headers(session: &mut FlowSession, exchange: &Exchange, step: &mut RequestStep) {
    let key = exchange.header(APIKEY.as_str()).map(str::to_owned).or_else(|| exchange.query(APIKEY.as_str()));
    if key.as_deref().is_some_and(is_secret_key) {
        step.headers.insert(APIKEY.to_string(), "{{keys.secret}}".into());
    } else if exchange.service.has_user_content() && key.is_some() {
        step.headers.insert(APIKEY.to_string(), "{{keys.publishable}}".into());
    }
    if exchange.service.has_user_content() {
        content::add_headers(session, exchange, &mut step.headers);
    }
    if let Some(token) = exchange.bearer() {
        step.bearer = bearer(session, token, key.as_deref());
    } else if let Some(pair) = exchange.header("authorization").and_then(|value| value.strip_prefix("Basic ")) {
        let pair = crate::symbols::decode_base64url(&pair.replace('+', "-").replace('/', "_")).unwrap_or_default();
        let pair = String::from_utf8_lossy(&pair).into_owned();
        let (id, secret) = pair.split_once(':').unwrap_or((&pair, ""));
        let filled = format!("{}:{}", text(session, id, "client_id"), text(session, secret, "client_secret"));
        step.headers.insert("authorization".to_owned(), json!({ "@concat": ["Basic ", { "@base64": filled }] }));
    }
    if let Some(version) = exchange.header("x-supabase-api-version").filter(|version| is_date(version)) {
        step.headers.insert("X-Supabase-Api-Version".to_owned(), version.into());
    }
}

/// Returns the placeholder of an access token; `None` where it is the key of clients.
fn bearer(session: &mut FlowSession, token: &str, key: Option<&str>) -> Option<Value> {
    if let Some(known) = session.known.find(token) {
        return Some(format!("{{{{{known}}}}}").into());
    }
    if is_secret_key(token) {
        return Some("{{keys.secret}}".into());
    }
    let role = jwt_claims(token).map(|claims| claims["role"].as_str().unwrap_or_default().to_owned());
    if key == Some(token) || token.starts_with("sb_publishable_") || role.as_deref() == Some("anon") {
        return None;
    }
    let name = session.name("token");
    let what = match role {
        Some(_) => "an access token from before the recording",
        None => "a bearer token that no recorded response had",
    };
    session.known.insert(token, name.clone());
    session.set(&name, json!({ "@provided": what }));
    Some(format!("{{{{{name}}}}}").into())
}

/// Returns whether a key is one of servers.
fn is_secret_key(key: &str) -> bool {
    key.starts_with("sb_secret_") || jwt_claims(key).is_some_and(|claims| claims["role"] == "service_role")
}

fn body(session: &mut FlowSession, exchange: &Exchange) -> RequestBody {
    let bytes = match &exchange.body {
        RecordedBody::Whole(bytes) if bytes.is_empty() => return RequestBody::None,
        RecordedBody::Whole(bytes) => bytes,
        RecordedBody::TooLarge(size) => {
            let name = session.name("body");
            session.set(
                &name,
                json!({ "@provided": format!("a body of {size} bytes, which is too large for a recording") }),
            );
            return RequestBody::Raw(format!("{{{{{name}}}}}").into());
        }
    };
    let content_type = exchange.header("content-type").unwrap_or_default();
    if content_type.starts_with("application/x-www-form-urlencoded") {
        let pairs = parse_pairs(&String::from_utf8_lossy(bytes));
        let form =
            pairs.into_iter().filter(|(name, _)| !infer::is_provider_detail(exchange, name)).map(|(name, value)| {
                let name = if is_name(&name) { name } else { text(session, &name, "name") };
                let value = text(session, &value, &name);
                (name, value.into())
            });
        return RequestBody::Form(Value::Object(form.collect()));
    }
    if !exchange.json().is_null() {
        return RequestBody::Json(value(session, exchange.json(), "", 0));
    }
    // Its form is unknown, and with it what of it is personal.
    let name = session.name("body");
    session.set(&name, json!({ "@words": bytes.len().min(MAX_TEXT) }));
    RequestBody::Raw(format!("{{{{{name}}}}}").into())
}
