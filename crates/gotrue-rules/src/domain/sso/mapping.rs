//! The attribute mapping of an SSO provider, applied to assertions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maps claims to assertion attributes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttributeMapping {
    /// The sources by claim name.
    /// Absent and empty are stored alike, but an update with an absent one changes nothing.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub keys: Option<BTreeMap<String, AttributeSource>>,
}

/// The source of a claim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttributeSource {
    /// The attribute's `Name` or `FriendlyName`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Further attributes, tried after `name` in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The value if no attribute is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether the claim is the list of all values instead of the first one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub array: bool,
}

#[expect(clippy::ref_option, reason = "serde calls it with the field")]
fn is_empty(keys: &Option<BTreeMap<String, AttributeSource>>) -> bool {
    keys.as_ref().is_none_or(BTreeMap::is_empty)
}

impl AttributeMapping {
    /// Whether both mappings are equal; absent and empty keys are.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let keys = |mapping: &Self| mapping.keys.clone().unwrap_or_default();
        keys(self) == keys(other)
    }

    /// The source of a claim.
    pub fn get(&self, claim: &str) -> Option<&AttributeSource> {
        self.keys.as_ref()?.get(claim)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn serialization_omits_absent_members() {
        for stored in [
            json!({}),
            json!({"keys": {"name": {"name": "displayName"}}}),
            json!({"keys": {"email": {"names": ["mail", "email"], "default": "none", "array": true}}}),
            json!({"keys": {"staff": {"name": "x", "default": false}}}),
        ] {
            let mapping: AttributeMapping = serde_json::from_value(stored.clone()).unwrap();
            assert_eq!(serde_json::to_value(&mapping).unwrap(), stored);
        }
        let empty: AttributeMapping = serde_json::from_value(json!({"keys": {}})).unwrap();
        assert_eq!(serde_json::to_value(&empty).unwrap(), json!({}));
        assert!(empty.is_equivalent(&AttributeMapping::default()));
    }

    #[test]
    fn source_is_found_by_claim() {
        let mapping: AttributeMapping = serde_json::from_value(json!({"keys": {"name": {"name": "cn"}}})).unwrap();
        assert_eq!(mapping.get("name").unwrap().name, "cn");
        assert!(mapping.get("email").is_none());
        assert!(!mapping.is_equivalent(&AttributeMapping::default()));
    }
}
