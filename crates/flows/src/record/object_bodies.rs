//! Bodies of requests of the storage API: the words of the API stay, contents are generated.

use serde_json::{Map, Value};

use super::exchange::{Exchange, RecordedBody};
use super::objects::{bucket, content, is_api_value, is_upload, large_content, object_name, split_route};
use super::plain::is_name;
use super::session::FlowSession;
use super::texts::text;
use super::{multipart, numbers, values};
use crate::format::RequestBody;

/// Members with the name of a bucket.
const BUCKET_MEMBERS: [&str; 5] = ["bucketId", "bucket_id", "bucketName", "destinationBucket", "bucket"];
/// Members with names of objects.
const NAME_MEMBERS: [&str; 6] = ["prefix", "prefixes", "paths", "sourceKey", "destinationKey", "objectName"];
/// Members with what applications store about an object.
const METADATA_MEMBERS: [&str; 2] = ["metadata", "user_metadata"];

/// Returns the body with placeholders; a form gets the boundary of the recorder.
pub(super) fn body(session: &mut FlowSession, exchange: &Exchange, headers: &mut Map<String, Value>) -> RequestBody {
    let content_type = exchange.header("content-type").unwrap_or_default();
    let form = match &exchange.body {
        RecordedBody::Whole(bytes) if bytes.is_empty() => return RequestBody::None,
        RecordedBody::Whole(bytes) => multipart::replace(session, bytes, content_type),
        RecordedBody::TooLarge(size) => multipart::replace_large(session, *size, content_type),
    };
    if let Some(form) = form {
        headers.insert("content-type".to_owned(), multipart::CONTENT_TYPE.into());
        return RequestBody::Raw(form);
    }
    let bytes = match &exchange.body {
        RecordedBody::Whole(bytes) => bytes,
        RecordedBody::TooLarge(size) => return RequestBody::Raw(large_content(session, *size)),
    };
    let (route, _) = split_route(exchange.route());
    let json = exchange.json();
    // A part of a resumable upload has the length that its headers say.
    if is_upload(route) || !(json.is_object() || json.is_array()) {
        return RequestBody::Raw(content(session, bytes));
    }
    let is_content = matches!(route, "/object" | "/object/upload/sign") && exchange.method != "DELETE";
    if is_content {
        return RequestBody::Json(values::value(session, json, "", 0));
    }
    headers.shift_remove("content-type");
    RequestBody::Json(api_value(session, json, "", route))
}

/// Replaces the values of a body of the API.
fn api_value(session: &mut FlowSession, json: &Value, name: &str, route: &str) -> Value {
    match json {
        Value::Object(members) => {
            let mut filled = Map::new();
            for (name, item) in members {
                let item = if METADATA_MEMBERS.contains(&name.as_str()) {
                    values::value(session, item, name, 0)
                } else {
                    api_value(session, item, name, route)
                };
                let name = if is_name(name) { name.clone() } else { text(session, name, "name") };
                filled.insert(name, item);
            }
            Value::Object(filled)
        }
        Value::Array(items) => items.iter().map(|item| api_value(session, item, name, route)).collect(),
        Value::String(recorded) => {
            let is_bucket = BUCKET_MEMBERS.contains(&name) || route == "/bucket" && matches!(name, "id" | "name");
            if is_bucket {
                bucket(session, recorded).into()
            } else if NAME_MEMBERS.contains(&name) {
                object_name(session, recorded).into()
            } else if is_api_value(name, recorded) {
                recorded.as_str().into()
            } else {
                text(session, recorded, name).into()
            }
        }
        Value::Number(number) if is_api_value(name, &number.to_string()) => json.clone(),
        Value::Number(number) => numbers::number(session, number),
        other => other.clone(),
    }
}
