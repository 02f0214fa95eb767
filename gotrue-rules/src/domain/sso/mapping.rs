//! What becomes of an assertion's attributes: kept with a provider, read by whoever makes a person of an assertion.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// For each claim the attributes it comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttributeMapping {
    /// By the claim's name; absent and empty are stored alike, but an update with an absent one changes nothing.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub keys: Option<BTreeMap<String, Attribute>>,
}

/// Where one claim comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Attribute {
    /// The attribute's `Name` or `FriendlyName`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Others, asked after `name` in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The claim where none of them is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The claim is a list of all values in the place of the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub array: bool,
}

#[expect(clippy::ref_option, reason = "serde calls it with the field")]
fn is_empty(keys: &Option<BTreeMap<String, Attribute>>) -> bool {
    keys.as_ref().is_none_or(BTreeMap::is_empty)
}

impl AttributeMapping {
    /// Whether both say the same: absent and empty keys do.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let keys = |mapping: &Self| mapping.keys.clone().unwrap_or_default();
        keys(self) == keys(other)
    }

    /// The attributes of a claim.
    pub fn get(&self, claim: &str) -> Option<&Attribute> {
        self.keys.as_ref()?.get(claim)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_said_is_written() {
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
        assert!(empty.says_the_same(&AttributeMapping::default()));
    }

    #[test]
    fn the_attributes_of_a_claim_are_found() {
        let mapping: AttributeMapping = serde_json::from_value(json!({"keys": {"name": {"name": "cn"}}})).unwrap();
        assert_eq!(mapping.get("name").unwrap().name, "cn");
        assert!(mapping.get("email").is_none());
        assert!(!mapping.says_the_same(&AttributeMapping::default()));
    }
}
