//! The changed values of a template.

use serde_json::{Map, Value};

use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::store::catalogue::StoredChange;

/// The values that owners can change, by their keys in `catalogue.toml`.
const KEYS: [&str; 8] =
    ["title", "price", "summary", "description", "features", "link", "payment_reference", "visible"];
/// The largest number of texts of a value.
const MAX_ITEMS: usize = 20;

/// The values of a template that differ from those of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateChange {
    /// The id of the template.
    pub template: u16,
    /// The number of the revision, from 1.
    pub revision: i32,
    /// Texts, lists of texts and switches by their keys in `catalogue.toml`.
    pub values: Map<String, Value>,
}

impl TemplateChange {
    /// Reads a stored revision; `None` if it cannot be one of this server.
    pub(crate) fn of(stored: &StoredChange) -> Option<Self> {
        let template = u16::try_from(stored.template).ok()?;
        let mut values: Map<String, Value> = serde_json::from_str(&stored.changes).ok()?;
        values.retain(|key, value| KEYS.contains(&key.as_str()) && is_value(key, value));
        Some(Self { template, revision: stored.revision, values })
    }
}

/// Reads the member `values` of a body.
///
/// # Errors
/// 400 for a value that owners cannot change, or of another type.
pub(super) fn read_values(body: &JsonBody) -> Result<Map<String, Value>, DeskError> {
    let Some(Value::Object(given)) = body.get("values") else {
        return Err(DeskError::invalid("values must be an object."));
    };
    for (key, value) in given {
        if !KEYS.contains(&key.as_str()) {
            return Err(DeskError::invalid(format!("values must have none but these members: {}.", KEYS.join(", "))));
        }
        if !is_value(key, value) {
            return Err(DeskError::invalid(format!("{key} has a value of another type.")));
        }
    }
    Ok(given.clone())
}

/// Returns the values of a template that differ from the files: those given, else the present ones.
pub(super) fn to_changes(
    base: &Map<String, Value>,
    present: &Map<String, Value>,
    given: Map<String, Value>,
) -> Map<String, Value> {
    let mut changes = present.clone();
    changes.extend(given.into_iter().map(|(key, value)| (key, trim(value))));
    changes.retain(|key, value| base.get(key) != Some(value));
    changes
}

/// Returns whether a value has the type of its key.
fn is_value(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("visible", Value::Bool(_)) => true,
        ("features" | "payment_reference", Value::Array(items)) => {
            items.len() <= MAX_ITEMS && items.iter().all(Value::is_string)
        }
        ("visible" | "features" | "payment_reference", _) => false,
        (_, value) => value.is_string(),
    }
}

fn trim(value: Value) -> Value {
    match value {
        Value::String(text) => text.trim().into(),
        Value::Array(items) => items.into_iter().map(trim).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(members) = value else { panic!("{value} is no object") };
        members
    }

    #[test]
    fn values_equal_to_the_files_are_no_changes() {
        let base = object(json!({ "title": "A", "price": "$28", "visible": true }));
        let present = object(json!({ "title": "B", "visible": false }));
        let given = object(json!({ "title": " A ", "price": "$30" }));
        assert_eq!(to_changes(&base, &present, given), object(json!({ "price": "$30", "visible": false })));
    }

    #[test]
    fn stored_values_of_other_servers_are_left_out() {
        let stored = StoredChange {
            template: 3,
            revision: 2,
            created_at: DateTime::UNIX_EPOCH,
            author: String::new(),
            changes: json!({ "title": "A", "price": 28, "later": "x", "features": ["a", 1] }).to_string(),
        };
        let change = TemplateChange::of(&stored).expect("a change");
        assert_eq!((change.template, change.values), (3, object(json!({ "title": "A" }))));
        assert_eq!(TemplateChange::of(&StoredChange { template: -1, ..stored.clone() }), None);
        assert_eq!(TemplateChange::of(&StoredChange { changes: "[]".to_owned(), ..stored }), None);
    }
}
