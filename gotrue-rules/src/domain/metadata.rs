//! Limits of the metadata that requests store in a user.

use serde_json::{Map, Value};

use super::error::{Error, Result};
use super::identity::merged;
use super::policy::MetadataLimits;

/// Checks metadata that a request gives under the name `name`.
///
/// # Errors
/// 400 `validation_failed` if it exceeds the limits.
pub fn check(name: &str, metadata: Option<&Map<String, Value>>, limits: Option<MetadataLimits>) -> Result<()> {
    let (Some(metadata), Some(limits)) = (metadata, limits) else { return Ok(()) };
    require(name, Size::of(metadata), limits)
}

/// Checks the changes that a request makes to metadata, and what they make of it. Metadata that exceeds the limits
/// already, because it is older than they are, may stay and shrink, but not grow.
///
/// # Errors
/// 400 `validation_failed` if the changes or their result exceed the limits.
pub fn check_update(
    name: &str,
    stored: &Map<String, Value>,
    changes: Option<&Map<String, Value>>,
    limits: Option<MetadataLimits>,
) -> Result<()> {
    let (Some(changes), Some(limits)) = (changes, limits) else { return Ok(()) };
    require(name, Size::of(changes), limits)?;
    let (before, after) = (Size::of(stored), Size::of(&merged(stored.clone(), changes)));
    if after.members <= before.members && after.bytes <= before.bytes {
        return Ok(());
    }
    require(name, after, limits)
}

fn require(name: &str, size: Size, limits: MetadataLimits) -> Result<()> {
    if size.members > limits.members {
        return Err(Error::invalid(format!("{name} cannot have more than {} members", limits.members)));
    }
    if size.bytes > limits.bytes {
        return Err(Error::invalid(format!("{name} cannot be larger than {} bytes", limits.bytes)));
    }
    Ok(())
}

/// The size of metadata.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Size {
    members: usize,
    bytes: usize,
}

impl Size {
    fn of(metadata: &Map<String, Value>) -> Self {
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
    fn members_of_all_depths_count() {
        let fits = [json!({"a": 1, "b": [1, 2]}), json!({"a": {"b": {"c": {"d": 1}}}}), json!({})];
        let exceeds = [json!({"a": 1, "b": [1, 2, 3]}), json!({"a": {"b": {"c": {"d": {"e": 1}}}}})];
        for metadata in fits {
            check("data", Some(&object(metadata)), LIMITS).unwrap();
        }
        for metadata in exceeds {
            let refusal = check("data", Some(&object(metadata)), LIMITS).unwrap_err();
            assert_eq!((refusal.status(), refusal.message()), (400, "data cannot have more than 4 members"));
        }
    }

    #[test]
    fn long_texts_and_long_names_count() {
        for metadata in [json!({"a": "x".repeat(60)}), json!({"x".repeat(60): 1})] {
            let metadata = object(metadata);
            let refusal = check("data", Some(&metadata), LIMITS).unwrap_err();
            assert_eq!(refusal.message(), "data cannot be larger than 60 bytes");
            check("data", Some(&metadata), None).unwrap();
        }
    }

    #[test]
    fn metadata_over_the_limits_may_shrink_but_not_grow() {
        let stored = object(json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}));
        let update = |changes| check_update("data", &stored, Some(&object(changes)), LIMITS);
        update(json!({"a": null})).unwrap();
        update(json!({"a": 2})).unwrap();
        update(json!({})).unwrap();
        update(json!({"g": 1})).unwrap_err();
        let stored = object(json!({"a": 1, "b": 1, "c": 1}));
        let update = |changes| check_update("data", &stored, Some(&object(changes)), LIMITS);
        update(json!({"d": 1})).unwrap();
        update(json!({"d": 1, "e": 1})).unwrap_err();
    }
}
