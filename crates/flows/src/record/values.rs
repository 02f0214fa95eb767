//! Replaces the texts and numbers of JSON values.

use serde_json::{Map, Value, json};

use super::infer;
use super::numbers::number;
use super::plain::is_name;
use super::session::FlowSession;
use super::texts::text;

/// The deepest value of a body.
const MAX_DEPTH: usize = 32;

/// Replaces the texts and numbers of a body.
pub(super) fn value(session: &mut FlowSession, json: &Value, name: &str, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    if let Some(credential) = infer::credential(session, json) {
        return credential;
    }
    match json {
        Value::Object(members) => {
            let mut filled = Map::new();
            for (name, item) in members {
                let item = value(session, item, name, depth + 1);
                let name = if is_name(name) { name.clone() } else { text(session, name, "name") };
                filled.insert(name, item);
            }
            Value::Object(filled)
        }
        Value::Array(items) => items.iter().map(|item| value(session, item, name, depth + 1)).collect(),
        Value::String(recorded) => text(session, recorded, name).into(),
        Value::Number(recorded) => number(session, recorded),
        other => other.clone(),
    }
}

/// Replaces a text that can be a JSON object, such as the metadata of an upload.
pub(super) fn json_text(session: &mut FlowSession, recorded: &str, name: &str) -> Value {
    match serde_json::from_str::<Value>(recorded) {
        Ok(json) if json.is_object() => json!({ "@text": value(session, &json, name, 0) }),
        _ => text(session, recorded, name).into(),
    }
}
