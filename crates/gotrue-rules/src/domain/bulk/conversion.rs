//! What the converters of other services' exports share.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uuid::Uuid;

use super::row::{ImportError, ImportRow};
use crate::domain::policy::PROVIDERS;

/// The namespace of ids that are derived from the ids of another service.
const NAMESPACE: Uuid = Uuid::from_u128(0x6a3d_5d2e_9c1b_5f04_8a57_3e0d_71c4_92bf);

/// An account of another service as an import line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConvertedRow {
    pub line: ImportRow,
    /// The password itself, where the file has it in place of a hash.
    pub password: Option<String>,
    /// What the line cannot hold: shown with the number of the line.
    pub notes: Vec<String>,
    /// Members of the file that no column takes.
    pub omitted: Vec<String>,
}

impl From<ImportRow> for ConvertedRow {
    fn from(line: ImportRow) -> Self {
        Self { line, ..Self::default() }
    }
}

impl ConvertedRow {
    /// Sets a member of the line.
    pub(super) fn set(&mut self, member: &str, value: impl Into<Value>) {
        self.line.insert(member.to_owned(), value.into());
    }

    /// Sets a member of the line unless its value is absent.
    pub(super) fn set_some(&mut self, member: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(member, value);
        }
    }

    /// Reports the members that are left in a row.
    pub(super) fn omit_rest(&mut self, row: ImportRow) {
        let has_value = |value: &Value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => true,
        };
        self.omitted.extend(row.into_iter().filter(|(_, value)| has_value(value)).map(|(name, _)| name));
    }
}

/// Names of providers in another service and the providers here that they become.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderNames(BTreeMap<String, String>);

impl ProviderNames {
    /// Adds a pair such as `oidc.okta=custom:okta`.
    ///
    /// # Errors
    /// If the text is no pair, or if there is no such provider here.
    pub fn add(&mut self, pair: &str) -> Result<(), ImportError> {
        let (theirs, ours) = pair.split_once('=').ok_or("THEIRS=OURS is wanted, such as oidc.okta=custom:okta")?;
        let is_custom = ours.strip_prefix("custom:").is_some_and(|name| !name.is_empty());
        let is_sso = ours.strip_prefix("sso:").is_some_and(|id| Uuid::parse_str(id).is_ok());
        if theirs.is_empty() || !(is_custom || is_sso || PROVIDERS.contains(&ours)) {
            return Err(format!(
                "{ours:?} is no provider: one of {}, custom:NAME or sso:ID is wanted",
                PROVIDERS.join(", ")
            ));
        }
        self.0.insert(theirs.to_owned(), ours.to_owned());
        Ok(())
    }

    /// Returns the provider here: as given, else as `usual` has it, else the one of the same name.
    pub(super) fn find(&self, theirs: &str, usual: &[(&str, &str)]) -> Option<String> {
        let known = || usual.iter().find(|(name, _)| *name == theirs).map(|(_, ours)| (*ours).to_owned());
        let same = || PROVIDERS.contains(&theirs).then(|| theirs.to_owned());
        self.0.get(theirs).cloned().or_else(known).or_else(same)
    }

    /// Lists the SSO providers that identities were given to, with the name of each pair.
    pub fn list_sso_providers(&self) -> Vec<(&str, Uuid)> {
        let id = |ours: &str| ours.strip_prefix("sso:").and_then(|id| Uuid::parse_str(id).ok());
        self.0.iter().filter_map(|(theirs, ours)| Some((theirs.as_str(), id(ours)?))).collect()
    }

    /// Returns the provider that was given for a name.
    pub(super) fn given(&self, theirs: &str) -> Option<String> {
        self.0.get(theirs).cloned()
    }
}

/// Returns the remark on an identity of a provider that is not known here.
pub(super) fn unknown_provider_note(theirs: &str) -> String {
    let ours = if theirs.starts_with("saml") { "sso:ID" } else { "custom:NAME" };
    format!("the identity of {theirs} is left out: --provider {theirs}={ours} imports it")
}

/// Derives a user's id from the id in another service, so that an import can be repeated.
pub(super) fn derive_id(service: &str, foreign_id: &str) -> Uuid {
    Uuid::new_v5(&NAMESPACE, format!("{service}:{foreign_id}").as_bytes())
}

/// Removes the first of these members that is a text or a number, and returns it as a text.
pub(super) fn take_text(row: &mut ImportRow, names: &[&str]) -> Option<String> {
    let mut found = None;
    for name in names {
        let is_scalar = |value: &Value| matches!(value, Value::String(_) | Value::Number(_) | Value::Null);
        if row.get(*name).is_some_and(is_scalar) {
            let text = match row.shift_remove(*name) {
                Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => None,
            };
            found = found.or(text);
        }
    }
    found
}

/// Removes the first of these members that is a switch, also one that is written as a text.
pub(super) fn take_flag(row: &mut ImportRow, names: &[&str]) -> Option<bool> {
    let mut found = None;
    for name in names {
        let flag = match row.get(*name) {
            Some(Value::Bool(flag)) => Some(*flag),
            Some(Value::Number(number)) => Some(number.as_f64() == Some(1.0)),
            Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "t" | "yes" | "1" => Some(true),
                "false" | "f" | "no" | "0" | "" => Some(false),
                _ => continue,
            },
            Some(Value::Null) => None,
            _ => continue,
        };
        row.shift_remove(*name);
        found = found.or(flag);
    }
    found
}

/// Returns a verified TOTP factor.
pub(super) fn totp_factor(id: Uuid, secret: &str) -> Value {
    json!({"id": id, "factor_type": "totp", "status": "verified", "secret": secret})
}

/// Returns a verified phone factor.
pub(super) fn phone_factor(id: Uuid, number: &str) -> Value {
    json!({"id": id, "factor_type": "phone", "status": "verified", "phone": number})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_found_by_given_usual_and_same_name() {
        let mut names = ProviderNames::default();
        names.add("oidc.okta=custom:okta").expect("a pair");
        names.add("saml.corp=sso:10000000-0000-4000-8000-000000000001").expect("a pair");
        let usual = [("google-oauth2", "google")];
        assert_eq!(names.find("oidc.okta", &usual).as_deref(), Some("custom:okta"));
        assert_eq!(names.find("google-oauth2", &usual).as_deref(), Some("google"));
        assert_eq!(names.find("github", &usual).as_deref(), Some("github"));
        assert_eq!(names.find("oidc.other", &usual), None);
        for wrong in ["oidc.okta", "=google", "a=okta", "a=custom:", "a=sso:7"] {
            assert!(names.add(wrong).is_err(), "{wrong}");
        }
    }
}
