//! What the data API and the storage API have in common: their headers, and responses that a replay cannot repeat.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::exchange::Exchange;
use super::plain::{is_header_text, is_name};
use super::session::FlowSession;
use super::texts::text;
use super::{data, objects, values};
use crate::format::{RequestStep, Service};
use crate::text::{parse_pairs, split_url};

/// Headers of requests that change what the APIs do.
const REQUEST_HEADERS: [&str; 13] = [
    "prefer",
    "accept",
    "accept-profile",
    "content-profile",
    "range",
    "range-unit",
    "x-upsert",
    "content-type",
    "cache-control",
    "tus-resumable",
    "upload-length",
    "upload-offset",
    "upload-defer-length",
];
const ANY: &str = "<any>";

/// Adds the headers of the APIs to those of a step.
pub(super) fn add_headers(session: &mut FlowSession, exchange: &Exchange, headers: &mut Map<String, Value>) {
    let is_json = exchange.service == Service::Rest && !exchange.json().is_null();
    for name in REQUEST_HEADERS {
        let Some(value) = exchange.header(name).filter(|value| is_header_text(name, value)) else { continue };
        let is_sent_by_replay = name == "accept" && value == "application/json" || name == "content-type" && is_json;
        if !is_sent_by_replay {
            headers.insert(name.to_owned(), value.into());
        }
    }
    if let Some(metadata) = exchange.header("upload-metadata") {
        headers.insert("upload-metadata".to_owned(), upload_metadata(session, metadata));
    }
}

/// Replaces the values of the metadata of a resumable upload (TUS 1.0.0, `Upload-Metadata`).
fn upload_metadata(session: &mut FlowSession, metadata: &str) -> Value {
    let mut pieces: Vec<Value> = Vec::new();
    for pair in metadata.split(',') {
        let (name, value) = pair.trim().split_once(' ').unwrap_or((pair.trim(), ""));
        let value = STANDARD.decode(value).unwrap_or_default();
        let value = String::from_utf8_lossy(&value).into_owned();
        let filled: Value = match name {
            "bucketName" => objects::bucket(session, &value).into(),
            "objectName" => objects::object_name(session, &value).into(),
            "contentType" if is_header_text("content-type", &value) => value.into(),
            "cacheControl" if is_header_text("cache-control", &value) => value.into(),
            _ => values::json_text(session, &value, name),
        };
        let separator = if pieces.is_empty() { "" } else { "," };
        let name = if is_name(name) { name.to_owned() } else { text(session, name, "name") };
        pieces.extend([format!("{separator}{name} ").into(), json!({ "@base64": filled })]);
    }
    json!({ "@concat": pieces })
}

/// Allows what a replay cannot repeat: the order of generated values, and hints of errors.
pub(super) fn loosen(exchange: &Exchange, step: &mut RequestStep, expect: &mut Value) {
    if exchange.status >= 400 {
        step.is_subset = true;
        return;
    }
    let json = exchange.response_json();
    match exchange.service {
        Service::Rest if data::compares_values(exchange) => {
            if expect.get("json").is_some() {
                expect["json"] = ANY.into();
            }
            if expect["headers"].get("content-range").is_some() {
                expect["headers"]["content-range"] = ANY.into();
            }
        }
        Service::Rest if !has_known_order(json, &data::order(exchange)) => hide_items(&mut expect["json"]),
        // The server sorts objects by their names.
        Service::Storage if json.is_array() => hide_items(&mut expect["json"]),
        Service::Storage if json.is_object() => {
            expect["json"].as_object_mut().into_iter().flat_map(Map::values_mut).for_each(hide_items);
        }
        // The content of an object that happens to be a number is generated as text.
        Service::Storage if !json.is_null() => {
            if let Some(members) = expect.as_object_mut() {
                members.shift_remove("json");
            }
            step.is_subset = true;
        }
        _ => {}
    }
}

/// Shows the items of a list of several as any, which keeps their number.
fn hide_items(list: &mut Value) {
    if let Some(items) = list.as_array_mut().filter(|items| items.len() > 1) {
        items.fill(ANY.into());
    }
}

/// Returns whether a replay sorts rows as the recorded server did: by times and ids that servers count.
fn has_known_order(rows: &Value, columns: &[String]) -> bool {
    let are_counted = || rows.as_array().into_iter().flatten().all(|row| row["id"].is_number());
    columns.iter().all(|column| match column.as_str() {
        "created_at" | "inserted_at" | "updated_at" => true,
        "id" => are_counted(),
        _ => false,
    })
}

/// Notes the URLs of a response that later requests follow.
pub(super) fn note_urls(session: &mut FlowSession, exchange: &Exchange, number: u32) {
    if exchange.service != Service::Storage {
        return;
    }
    note_signed_urls(session, exchange.response_json(), &format!("step{number}"));
    if let Some(location) = exchange.location()
        && let Some((_, last)) = split_url(&location).base.rsplit_once('/')
    {
        session.uploads.insert(last, format!("location{number}.base"));
    }
}

fn note_signed_urls(session: &mut FlowSession, json: &Value, expression: &str) {
    match json {
        Value::Object(members) => {
            for (name, item) in members.iter().filter(|(name, _)| matches!(name.as_str(), "signedURL" | "url")) {
                let url = item.as_str().unwrap_or_default();
                let token = parse_pairs(split_url(url).query).into_iter().find(|(name, _)| name == "token");
                if let Some((_, token)) = token {
                    session.signed_urls.insert(&token, format!("{expression}.{name}"));
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                note_signed_urls(session, item, &format!("{expression}.{at}"));
            }
        }
        _ => {}
    }
}
