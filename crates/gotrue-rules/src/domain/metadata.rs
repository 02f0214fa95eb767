//! Size limits of user metadata.

use foundation::error::{Error, Result};
use serde_json::{Map, Value};

use super::identity::merge_metadata;
use super::policy::MetadataLimits;

/// Validates metadata of the request member `name`.
///
/// # Errors
/// 400 `validation_failed` if it exceeds the limits.
pub fn validate(name: &str, metadata: Option<&Map<String, Value>>, limits: Option<MetadataLimits>) -> Result<()> {
    let (Some(metadata), Some(limits)) = (metadata, limits) else { return Ok(()) };
    require_within_limits(name, MetadataSize::measure(metadata), limits)
}

/// Validates changes of metadata and their result.
/// Metadata that already exceeds the limits may stay and shrink, but not grow.
///
/// # Errors
/// 400 `validation_failed` if the changes or their result exceed the limits.
pub fn validate_update(
    name: &str,
    stored: &Map<String, Value>,
    changes: Option<&Map<String, Value>>,
    limits: Option<MetadataLimits>,
) -> Result<()> {
    let (Some(changes), Some(limits)) = (changes, limits) else { return Ok(()) };
    require_within_limits(name, MetadataSize::measure(changes), limits)?;
    let (before, after) =
        (MetadataSize::measure(stored), MetadataSize::measure(&merge_metadata(stored.clone(), changes)));
    if after.members <= before.members && after.bytes <= before.bytes {
        return Ok(());
    }
    require_within_limits(name, after, limits)
}

fn require_within_limits(name: &str, size: MetadataSize, limits: MetadataLimits) -> Result<()> {
    if size.members > limits.members {
        return Err(Error::invalid(format!("{name} cannot have more than {} members", limits.members)));
    }
    if size.bytes > limits.bytes {
        return Err(Error::invalid(format!("{name} cannot be larger than {} bytes", limits.bytes)));
    }
    Ok(())
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct MetadataSize {
    members: usize,
    bytes: usize,
}

impl MetadataSize {
    fn measure(metadata: &Map<String, Value>) -> Self {
        let mut size = Self::default();
        size.add_members(metadata);
        size
    }

    fn add_members(&mut self, object: &Map<String, Value>) {
        self.members += object.len();
        self.bytes += 2;
        for (name, value) in object {
            // Quotation marks, colon, comma.
            self.bytes += name.len() + 4;
            self.add(value);
        }
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Object(object) => self.add_members(object),
            Value::Array(items) => {
                self.members += items.len();
                self.bytes += 2 + items.len();
                for item in items {
                    self.add(item);
                }
            }
            Value::String(text) => self.bytes += text.len() + 2,
            Value::Number(number) => self.bytes += number.to_string().len(),
            Value::Bool(_) | Value::Null => self.bytes += 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMITS: Option<MetadataLimits> = Some(MetadataLimits { members: 4, bytes: 60 });

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            _ => panic!("an object is wanted"),
        }
    }

    #[test]
    fn nested_members_count() {
        let fits = [json!({"a": 1, "b": [1, 2]}), json!({"a": {"b": {"c": {"d": 1}}}}), json!({})];
        let exceeds = [json!({"a": 1, "b": [1, 2, 3]}), json!({"a": {"b": {"c": {"d": {"e": 1}}}}})];
        for metadata in fits {
            validate("data", Some(&object(metadata)), LIMITS).unwrap();
        }
        for metadata in exceeds {
            let refusal = validate("data", Some(&object(metadata)), LIMITS).unwrap_err();
            assert_eq!((refusal.status(), refusal.message()), (400, "data cannot have more than 4 members"));
        }
    }

    #[test]
    fn long_texts_and_names_count() {
        for metadata in [json!({"a": "x".repeat(60)}), json!({"x".repeat(60): 1})] {
            let metadata = object(metadata);
            let refusal = validate("data", Some(&metadata), LIMITS).unwrap_err();
            assert_eq!(refusal.message(), "data cannot be larger than 60 bytes");
            validate("data", Some(&metadata), None).unwrap();
        }
    }

    #[test]
    fn oversized_metadata_may_shrink_but_not_grow() {
        let stored = object(json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}));
        let update = |changes| validate_update("data", &stored, Some(&object(changes)), LIMITS);
        update(json!({"a": null})).unwrap();
        update(json!({"a": 2})).unwrap();
        update(json!({})).unwrap();
        update(json!({"g": 1})).unwrap_err();
        let stored = object(json!({"a": 1, "b": 1, "c": 1}));
        let update = |changes| validate_update("data", &stored, Some(&object(changes)), LIMITS);
        update(json!({"d": 1})).unwrap();
        update(json!({"d": 1, "e": 1})).unwrap_err();
    }
}
