//! Replaces the values of a row.

use serde_json::{Map, Value};

use crate::metadata::{DocumentRules, is_email};
use crate::pseudonyms::Pseudonyms;
use crate::rules::{ColumnRule, FACTORS, IDENTITIES, USERS};

/// What an anonymised copy is made with.
pub struct Anonymisation {
    pub pseudonyms: Pseudonyms,
    /// Keys of documents whose values are kept.
    pub kept: Vec<String>,
    /// The hash of the known password; empty: passwords are removed.
    pub password_hash: String,
}

impl Anonymisation {
    /// Returns the rules for rows.
    pub fn row_rules(&self) -> RowRules<'_> {
        RowRules { pseudonyms: &self.pseudonyms, kept: &self.kept, password_hash: &self.password_hash }
    }
}

/// What a row's values are replaced with.
pub struct RowRules<'a> {
    pub(crate) pseudonyms: &'a Pseudonyms,
    /// Keys of documents whose values are kept.
    pub(crate) kept: &'a [String],
    /// The hash of the known password; empty: passwords are removed.
    pub(crate) password_hash: &'a str,
}

impl RowRules<'_> {
    /// Replaces the values of the columns in a row; `owner` is the id of its user.
    pub(crate) fn replace(&self, row: &mut Map<String, Value>, rules: &[(&str, ColumnRule)], owner: &str) {
        for (column, rule) in rules {
            if let Some(value) = row.get_mut(*column).filter(|value| !value.is_null()) {
                *value = self.replace_value(*rule, value, owner);
            }
        }
    }

    /// Replaces the values of a line of an export: a user with identities, factors and passkeys.
    pub fn replace_line(&self, line: &mut Value) {
        let owner = line["id"].as_str().unwrap_or_default().to_owned();
        let Value::Object(user) = line else { return };
        self.replace(user, USERS, &owner);
        for (name, rules) in [("identities", IDENTITIES), ("factors", FACTORS)] {
            let Some(Value::Array(rows)) = user.get_mut(name) else { continue };
            rows.retain(|row| row["factor_type"] != "webauthn" && row["factor_type"] != "recovery_code");
            for row in rows.iter_mut().filter_map(Value::as_object_mut) {
                self.replace(row, rules, &owner);
            }
        }
        user.insert("passkeys".to_owned(), Value::Array(Vec::new()));
        user.shift_remove("recovery_codes");
    }

    /// A document of a user with this id.
    pub(crate) fn replace_document(&self, document: &Value, owner: &str) -> Value {
        self.replace_value(ColumnRule::Document, document, owner)
    }

    fn replace_value(&self, rule: ColumnRule, value: &Value, owner: &str) -> Value {
        let documents = DocumentRules { pseudonyms: self.pseudonyms, kept: self.kept };
        match (rule, value) {
            (ColumnRule::Keep, _) => value.clone(),
            (ColumnRule::Null, _) => Value::Null,
            (ColumnRule::EmptyList, _) => Value::Array(Vec::new()),
            (ColumnRule::Constant(text), _) => text.into(),
            (ColumnRule::Document, _) => documents.replace(value, owner),
            (ColumnRule::Emails, Value::Array(items)) => {
                items.iter().map(|item| self.replace_value(ColumnRule::Contact, item, owner)).collect()
            }
            (_, Value::String(text)) if text.is_empty() => value.clone(),
            (_, Value::String(text)) => self.replace_text(rule, text, owner, &documents).into(),
            (_, _) => Value::Null,
        }
    }

    fn replace_text(&self, rule: ColumnRule, text: &str, owner: &str, documents: &DocumentRules<'_>) -> String {
        let pseudonyms = self.pseudonyms;
        match rule {
            ColumnRule::Email => pseudonyms.email(text),
            ColumnRule::Phone => pseudonyms.phone(text),
            ColumnRule::Contact if is_email(text) => pseudonyms.email(text),
            ColumnRule::Contact if text.starts_with(|first: char| first == '+' || first.is_ascii_digit()) => {
                pseudonyms.phone(text)
            }
            ColumnRule::Contact => pseudonyms.name(text),
            ColumnRule::Scrub => documents.scrub(text),
            ColumnRule::Url => pseudonyms.url(text),
            ColumnRule::Ip => pseudonyms.ip_text(text.split('/').next().unwrap_or(text)),
            ColumnRule::Network => pseudonyms.network(text),
            ColumnRule::UserAgent => pseudonyms.user_agent(text),
            ColumnRule::Domain => pseudonyms.domain(text),
            ColumnRule::ProviderId if text == owner => text.to_owned(),
            ColumnRule::ProviderId | ColumnRule::Identifier => pseudonyms.identifier(text),
            ColumnRule::Password => self.password_hash.to_owned(),
            ColumnRule::TotpSecret => pseudonyms.totp_secret(text),
            ColumnRule::SamlMetadata => {
                let entity = pseudonyms.url(text);
                format!("<EntityDescriptor xmlns=\"urn:oasis:names:tc:SAML:2.0:metadata\" entityID=\"{entity}\"/>")
            }
            _ => pseudonyms.text(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_between_tables_and_documents_stay() {
        let pseudonyms = Pseudonyms::new("a seed");
        let rules = RowRules { pseudonyms: &pseudonyms, kept: &[], password_hash: "$2b$04$hash" };
        let id = "6f7d4d1e-1b6f-4c59-9b50-0b8cf1d0c9a1";
        let mut line = json!({
            "id": id, "email": "ann@corp.test", "phone": "491511234567", "encrypted_password": "$2a$10$secret",
            "raw_user_meta_data": {"email": "Ann@corp.test", "phone": "+491511234567"},
            "identities": [
                {"provider": "email", "provider_id": id, "identity_data": {"sub": id, "email": "ann@corp.test"}},
                {"provider": "github", "provider_id": "1049", "identity_data": {"sub": "1049", "user_name": "ann"}},
            ],
            "factors": [{"factor_type": "totp", "secret": "JBSWY3DP"}, {"factor_type": "webauthn"}],
            "passkeys": [{"credential_id": "\\x01"}],
        });
        rules.replace_line(&mut line);
        assert_eq!(line["email"], line["raw_user_meta_data"]["email"]);
        assert_eq!(line["email"], line["identities"][0]["identity_data"]["email"]);
        assert_eq!(line["raw_user_meta_data"]["phone"], format!("+{}", line["phone"].as_str().expect("a number")));
        assert_eq!((&line["identities"][0]["provider_id"], &line["id"]), (&json!(id), &json!(id)));
        assert_eq!(line["identities"][1]["provider_id"], line["identities"][1]["identity_data"]["sub"]);
        assert_eq!((&line["encrypted_password"], &line["passkeys"]), (&json!("$2b$04$hash"), &json!([])));
        assert_eq!(line["factors"].as_array().map(Vec::len), Some(1));
        for original in ["corp.test", "1511234567", "1049", "JBSWY3DP", "secret\":\"$2a"] {
            assert!(!line.to_string().contains(original), "{original}: {line}");
        }
    }
}
