//! What each revision of a template changed.

use foundation::time::format_milliseconds;
use serde_json::{Map, Value, json};

use super::change::TemplateChange;
use crate::store::catalogue::StoredChange;

/// The revisions of a template that are kept.
pub(super) const MAX_REVISIONS: i32 = 100;

/// Describes revisions, the newest first: who changed what, from which value to which.
///
/// The oldest is compared with the files only if it is the first of all; else it is the one that the others are compared
/// with.
pub(super) fn describe_history(base: &Map<String, Value>, newest_first: &[StoredChange]) -> Vec<Value> {
    let values: Vec<Map<String, Value>> = newest_first.iter().map(|stored| values_of(base, stored)).collect();
    let described = newest_first.iter().enumerate().filter_map(|(at, stored)| {
        let before = match values.get(at + 1) {
            Some(before) => before,
            None if stored.revision == 1 => base,
            None => return None,
        };
        Some(json!({
            "revision": stored.revision,
            "at": format_milliseconds(stored.created_at),
            "author": stored.author,
            "fields": list_differences(before, &values[at]),
        }))
    });
    described.collect()
}

fn values_of(base: &Map<String, Value>, stored: &StoredChange) -> Map<String, Value> {
    let mut values = base.clone();
    values.extend(TemplateChange::of(stored).map(|change| change.values).unwrap_or_default());
    values
}

fn list_differences(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<Value> {
    let different = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    different.map(|(key, value)| json!({ "name": key, "before": before.get(key), "after": value })).collect()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn revision(revision: i32, changes: &Value) -> StoredChange {
        StoredChange {
            template: 1,
            revision,
            created_at: DateTime::UNIX_EPOCH,
            author: "owner@shop.example".to_owned(),
            changes: changes.to_string(),
            product: None,
        }
    }

    #[test]
    fn each_revision_is_compared_with_the_one_before() {
        let base = json!({ "title": "A", "price": "$28" }).as_object().cloned().expect("an object");
        let stored = [
            revision(3, &json!({ "title": "B" })),
            revision(2, &json!({ "title": "B", "price": "$30" })),
            revision(1, &json!({ "price": "$30" })),
        ];
        let history = describe_history(&base, &stored);
        let fields: Vec<&Value> = history.iter().map(|entry| &entry["fields"]).collect();
        assert_eq!(*fields[0], json!([{ "name": "price", "before": "$30", "after": "$28" }]));
        assert_eq!(*fields[1], json!([{ "name": "title", "before": "A", "after": "B" }]));
        assert_eq!(*fields[2], json!([{ "name": "price", "before": "$28", "after": "$30" }]));
        assert_eq!(describe_history(&base, &stored[..2]).len(), 1, "what the oldest kept one changed is not known");
    }
}
