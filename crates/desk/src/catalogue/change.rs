//! The changed values of a template.

use http::StatusCode;
use orders::products::UploadedProduct;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::store::catalogue::StoredChange;

/// The values that owners can change, by their keys in `catalogue.toml`.
const KEYS: [&str; 12] = [
    "title",
    "category",
    "price",
    "summary",
    "description",
    "features",
    "link",
    "payment_reference",
    "visible",
    PICTURE,
    PICTURE_ALT,
    PRODUCT_FILE,
];
/// The id of an uploaded picture; empty for that of the files.
pub(super) const PICTURE: &str = "picture";
/// The alternative text of the uploaded picture.
const PICTURE_ALT: &str = "picture_alt";
/// The id of an uploaded file for buyers; empty for that of the folder of products.
pub(super) const PRODUCT_FILE: &str = "product_file";
/// The values that every template has.
const NEEDED: [&str; 6] = ["title", "category", "price", "summary", "description", "features"];
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
    /// The uploaded file that they name for buyers.
    pub product: Option<UploadedProduct>,
}

impl TemplateChange {
    /// Returns whether it has all values that a template needs, so that the files need not have the template.
    pub fn is_complete(&self) -> bool {
        NEEDED.iter().all(|key| self.values.contains_key(*key))
    }

    /// Reads a stored revision; `None` if it cannot be one of this server.
    pub(crate) fn of(stored: &StoredChange) -> Option<Self> {
        let template = u16::try_from(stored.template).ok()?;
        let mut values: Map<String, Value> = serde_json::from_str(&stored.changes).ok()?;
        values.retain(|key, value| KEYS.contains(&key.as_str()) && is_value(key, value));
        Some(Self { template, revision: stored.revision, values, product: stored.product.clone() })
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
    if !changes.contains_key(PICTURE) {
        changes.remove(PICTURE_ALT);
    }
    changes
}

/// Returns the values of a template that is in no file: it is hidden and has nothing.
pub(super) fn empty_values() -> Map<String, Value> {
    let value = |key: &str| match key {
        "visible" => Value::Bool(false),
        "features" | "payment_reference" => Value::Array(Vec::new()),
        _ => Value::String(String::new()),
    };
    KEYS.iter().map(|key| ((*key).to_owned(), value(key))).collect()
}

/// Returns the file that a value names.
pub(super) fn find_file(values: &Map<String, Value>, key: &str) -> Option<Uuid> {
    values.get(key).and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok())
}

/// Requires that an uploaded picture is described.
///
/// # Errors
/// 400 without alternative text.
pub(super) fn require_alternative_text(values: &Map<String, Value>) -> Result<(), DeskError> {
    let alt = values.get(PICTURE_ALT).and_then(Value::as_str).unwrap_or_default();
    if values.contains_key(PICTURE) && alt.is_empty() {
        let refused = DeskError::new(StatusCode::BAD_REQUEST, "catalogue_refused", "The picture has no description.");
        return Err(refused.hint("Say in picture_alt what the picture shows: some visitors cannot see it."));
    }
    Ok(())
}

/// Returns whether a value has the type of its key.
fn is_value(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("visible", Value::Bool(_)) => true,
        ("features" | "payment_reference", Value::Array(items)) => {
            items.len() <= MAX_ITEMS && items.iter().all(Value::is_string)
        }
        ("visible" | "features" | "payment_reference", _) => false,
        (PICTURE | PRODUCT_FILE, Value::String(id)) => {
            id.is_empty() || Uuid::parse_str(id).is_ok_and(|parsed| parsed.to_string() == *id)
        }
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
    fn uploaded_files_are_ids_and_a_description_needs_its_picture() {
        let id = "0b6f9a9c-7d1c-4f0e-9a3b-2f6f6b1f2a11";
        let base = empty_values();
        let given = object(json!({ "picture": id, "picture_alt": "A letter", "visible": false }));
        let changes = to_changes(&base, &Map::new(), given);
        assert_eq!(changes, object(json!({ "picture": id, "picture_alt": "A letter" })));
        assert!(require_alternative_text(&changes).is_ok());
        assert!(require_alternative_text(&object(json!({ "picture": id }))).is_err());
        assert_eq!(to_changes(&base, &changes, object(json!({ "picture": "" }))), Map::new());
        for (value, is_valid) in [(id, true), ("", true), ("pictures/a.png", false), (&id.to_uppercase(), false)] {
            assert_eq!(is_value(PRODUCT_FILE, &json!(value)), is_valid, "{value}");
        }
    }

    #[test]
    fn stored_values_of_other_servers_are_left_out() {
        let stored = StoredChange {
            template: 3,
            revision: 2,
            created_at: DateTime::UNIX_EPOCH,
            author: String::new(),
            product: None,
            changes: json!({ "title": "A", "price": 28, "later": "x", "features": ["a", 1] }).to_string(),
        };
        let change = TemplateChange::of(&stored).expect("a change");
        assert_eq!((change.template, change.values), (3, object(json!({ "title": "A" }))));
        assert_eq!(TemplateChange::of(&StoredChange { template: -1, ..stored.clone() }), None);
        assert_eq!(TemplateChange::of(&StoredChange { changes: "[]".to_owned(), ..stored }), None);
    }
}
