//! Replaces the values of JSON documents: metadata of users, identities and audit entries.
//!
//! Values of a few keys are kept; all others are replaced by the names of their keys or by their form.

use std::net::IpAddr;

use serde_json::{Map, Number, Value};
use uuid::Uuid;

use crate::pseudonyms::Pseudonyms;

/// Keys whose values are kept: they name no user.
const KEPT: &[&str] = &[
    "action",
    "aal",
    "actor_id",
    "actor_via_sso",
    "amr",
    "aud",
    "channel",
    "client_id",
    "email_verified",
    "factor_id",
    "factor_status",
    "factor_type",
    "grant_type",
    "iss",
    "lang",
    "language",
    "locale",
    "log_type",
    "phone_verified",
    "provider",
    "provider_type",
    "providers",
    "role",
    "roles",
    "session_id",
    "timestamp",
    "user_id",
];

/// Keys with ids that a provider gave to a user.
const IDENTIFIERS: &[&str] =
    &["sub", "provider_id", "oid", "uid", "kid", "external_id", "customer_id", "stripe_customer_id"];

/// The length of a UUID with hyphens (RFC 9562 §4).
const HYPHENATED_UUID_LENGTH: usize = 36;
/// The deepest nesting that is replaced value by value.
const MAX_DEPTH: usize = 100;

/// Replaces the values of documents.
pub(crate) struct DocumentRules<'a> {
    pub pseudonyms: &'a Pseudonyms,
    /// Further keys whose values are kept.
    pub kept: &'a [String],
}

impl DocumentRules<'_> {
    /// Replaces the values of a document; `owner` is the id of its user, which is kept wherever it is.
    pub(crate) fn replace(&self, document: &Value, owner: &str) -> Value {
        self.replace_value("", document, owner, 0)
    }

    fn replace_value(&self, key: &str, value: &Value, owner: &str, depth: usize) -> Value {
        let is_kept = KEPT.contains(&key) || self.kept.iter().any(|kept| kept == key);
        match value {
            _ if depth > MAX_DEPTH => Value::Null,
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Object(members) => Value::Object(self.replace_members(members, owner, depth)),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.replace_value(key, item, owner, depth + 1)).collect())
            }
            Value::Number(_) if is_kept => value.clone(),
            Value::Number(number) => Value::Number(self.replace_number(number)),
            Value::String(text) if is_kept => Value::String(self.scrub(text)),
            Value::String(text) => Value::String(self.replace_text(key, text, owner)),
        }
    }

    fn replace_members(&self, members: &Map<String, Value>, owner: &str, depth: usize) -> Map<String, Value> {
        let member =
            |(key, value): (&String, &Value)| (self.scrub(key), self.replace_value(key, value, owner, depth + 1));
        members.iter().map(member).collect()
    }

    fn replace_number(&self, number: &Number) -> Number {
        match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => self.pseudonyms.whole_number(whole).into(),
            (None, Some(fraction)) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the pseudonym of a fraction is that of its whole part"
                )]
                let whole = fraction.clamp(-1e15, 1e15) as i64;
                self.pseudonyms.whole_number(whole).into()
            }
            (None, None) => 0.into(),
        }
    }

    /// Replaces a text by the name of its key, or else by its form.
    fn replace_text(&self, key: &str, text: &str, owner: &str) -> String {
        let pseudonyms = self.pseudonyms;
        let key = key.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| key.contains(part));
        if text.is_empty() || text == owner {
            text.to_owned()
        } else if is_email(text) {
            pseudonyms.email(text)
        } else if let Ok(address) = text.parse::<IpAddr>() {
            pseudonyms.ip(address).to_string()
        } else if IDENTIFIERS.contains(&key.as_str()) {
            pseudonyms.identifier(text)
        } else if is_uuid(text) {
            text.to_owned()
        } else if is_phone(text) && !has(&["zip", "postal"]) {
            pseudonyms.phone(text)
        } else if has(&["user_agent"]) {
            pseudonyms.user_agent(text)
        } else if text.contains("://") || text.starts_with("data:") || has(&["avatar", "picture", "photo"]) {
            pseudonyms.url(text)
        } else if let Some(date) = generalise_date(&key, text) {
            date
        } else if has(&["domain", "hd"]) && is_domain(text) {
            pseudonyms.domain(text)
        } else if has(&["name", "nick", "login", "handle", "username"]) {
            pseudonyms.name(text)
        } else {
            pseudonyms.text(text)
        }
    }

    /// Replaces e-mail addresses, numbers and IP addresses within a text, and keeps the rest.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let is_delimiter = |character: char| character.is_whitespace() || "<>()[]{}\"'`,;|=&?".contains(character);
        let mut scrubbed = String::with_capacity(text.len());
        for part in text.split_inclusive(is_delimiter) {
            let token = part.trim_end_matches(|character| is_delimiter(character) || ".:!".contains(character));
            scrubbed.push_str(&self.scrub_token(token));
            scrubbed.push_str(&part[token.len()..]);
        }
        scrubbed
    }

    fn scrub_token(&self, token: &str) -> String {
        let pseudonyms = self.pseudonyms;
        let (scheme, rest) = token.split_once("mailto:").map_or(("", token), |(_, rest)| ("mailto:", rest));
        if is_email(rest) {
            format!("{scheme}{}", pseudonyms.email(rest))
        } else if token.contains('@') && token.contains('.') {
            pseudonyms.text(token)
        } else if let Ok(address) = token.parse::<IpAddr>() {
            pseudonyms.ip(address).to_string()
        } else if token.starts_with('+') && is_phone(token) {
            pseudonyms.phone(token)
        } else {
            token.to_owned()
        }
    }
}

/// Returns whether a text is an e-mail address alone.
pub(crate) fn is_email(text: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c == '/' || c == ':');
    text.split_once('@').is_some_and(|(user, domain)| is_plain(user) && is_plain(domain) && !domain.contains('@'))
}

/// Returns whether a text is a UUID with hyphens.
///
/// 32 digits alone are also those of a hash or a key.
fn is_uuid(text: &str) -> bool {
    text.len() == HYPHENATED_UUID_LENGTH && text.parse::<Uuid>().is_ok()
}

fn is_phone(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_part = |character: char| character.is_ascii_digit() || " ()-./".contains(character);
    let is_date = text.as_bytes().get(4) == Some(&b'-') && text.as_bytes().get(7) == Some(&b'-');
    (7..=15).contains(&digits) && !is_date && text.trim().trim_start_matches('+').chars().all(is_part)
}

fn is_domain(text: &str) -> bool {
    text.contains('.') && text.chars().all(|character| character.is_alphanumeric() || ".-".contains(character))
}

/// Returns the first day of the year of a date; times of events (`…_at`) stay.
fn generalise_date(key: &str, text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_date = [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(is_digit) && bytes[4] == b'-' && bytes[7] == b'-';
    if !is_date {
        return None;
    }
    match text.get(10..) {
        Some("") => Some(format!("{}-01-01", &text[..4])),
        Some(rest) if rest.starts_with(['T', ' ']) && text.len() <= 40 => {
            let is_event = key.ends_with("_at") && chrono::DateTime::parse_from_rfc3339(text).is_ok();
            Some(if is_event { text.to_owned() } else { format!("{}-01-01T00:00:00Z", &text[..4]) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const OWNER: &str = "6f7d4d1e-1b6f-4c59-9b50-0b8cf1d0c9a1";

    fn replace(document: &Value) -> Value {
        let pseudonyms = Pseudonyms::new("a seed");
        DocumentRules { pseudonyms: &pseudonyms, kept: &["plan".to_owned()] }.replace(document, OWNER)
    }

    #[test]
    fn values_are_replaced_by_key_and_form() {
        let pseudonyms = Pseudonyms::new("a seed");
        let replaced = replace(&json!({
            "email": "Ann@corp.test", "email_verified": true, "sub": "1049", "user_id": OWNER, "full_name": "Ann Smith",
            "avatar_url": "https://corp.test/ann.png", "plan": "gold for ann@corp.test", "note": "call me",
            "phone": "+491511234567", "born": "1984-05-06", "seen_at": "2026-01-02T03:04:05Z", "age": 42,
            "nested": [{"ip": "203.0.113.7", "x": null}], "ann@corp.test": 1.5, "owner": OWNER
        }));
        assert_eq!(replaced["email"], pseudonyms.email("ann@corp.test"));
        assert_eq!(replaced["sub"], pseudonyms.identifier("1049"));
        assert_eq!((&replaced["user_id"], &replaced["owner"]), (&json!(OWNER), &json!(OWNER)));
        assert_eq!(replaced["full_name"], pseudonyms.name("Ann Smith"));
        assert_eq!(replaced["avatar_url"], pseudonyms.url("https://corp.test/ann.png"));
        assert_eq!(replaced["plan"], format!("gold for {}", pseudonyms.email("ann@corp.test")));
        assert_eq!(replaced["note"], pseudonyms.text("call me"));
        assert_eq!(replaced["phone"], pseudonyms.phone("+491511234567"));
        assert_eq!((&replaced["born"], &replaced["seen_at"]), (&json!("1984-01-01"), &json!("2026-01-02T03:04:05Z")));
        assert!(replaced["age"].as_i64().is_some_and(|age| (10..100).contains(&age)));
        assert!(!replaced.to_string().contains("corp.test"), "{replaced}");
        assert!(!replaced.to_string().contains("203.0.113"), "{replaced}");
    }

    #[test]
    fn uuids_stay_in_their_usual_form_only() {
        let id = "0bc83cb5-71cd-4c50-ba6f-3e8a78ef1346";
        let simple = id.replace('-', "");
        let replaced = replace(&json!({
            "cart": id, "gravatar_id": simple, "api_key": simple.to_uppercase(), "urn": format!("urn:uuid:{id}"),
            "device": format!("{{{id}}}"), "list": [simple, id]
        }));
        assert_eq!((&replaced["cart"], &replaced["list"][1]), (&json!(id), &json!(id)));
        for changed in [
            &replaced["gravatar_id"],
            &replaced["api_key"],
            &replaced["urn"],
            &replaced["device"],
            &replaced["list"][0],
        ] {
            let text = changed.as_str().expect("a text").to_lowercase();
            assert!(!text.contains(&simple) && !text.contains(id), "{replaced}");
        }
    }

    proptest! {
        #[test]
        fn no_address_of_a_document_remains(
            user in "[a-z]{6,10}", key in "[a-z_]{1,10}", before in "[a-z ]{0,9} ?", kept in any::<bool>(),
        ) {
            let address = format!("{user}@planted.test");
            let key = if kept { "role".to_owned() } else { key };
            let text = json!({key: format!("{before} <{address}>, {address}."), "list": [address], "e": {"x": address}});
            let replaced = replace(&text).to_string();
            prop_assert!(!replaced.contains("planted.test"), "{replaced}");
        }

        #[test]
        fn arbitrary_texts_do_not_panic(key in "\\PC{0,12}", text in "\\PC{0,40}", number in any::<f64>()) {
            replace(&json!({key: text, "n": number}));
        }
    }
}
