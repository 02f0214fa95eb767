//! A list of JSON Web Keys, as `GOTRUE_JWT_KEYS` and the file of `auth.signing_keys_path` have it.
//!
//! The key with the operation `sign` is in use. Those before it were used earlier, those after it are on standby.

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::key_set::{KeyKind, KeySet, KeyState, ManagedKey};

/// A list of signing keys.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JwkList {
    pub keys: KeySet,
}

impl JwkList {
    /// Parses a list; an empty text and `null` are an empty one.
    ///
    /// # Errors
    /// It is not a list of keys with different ids, one of which signs.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let wrong = "the keys are not a JSON list of JSON Web Keys";
        let given: Option<Vec<Map<String, Value>>> =
            if text.trim().is_empty() { None } else { serde_json::from_str(text).ok().context(wrong)? };
        let given = given.unwrap_or_default();
        let signing = given.iter().filter(|key| can_sign(key)).count();
        ensure!(given.is_empty() || signing == 1, "{signing} keys of the list have the operation sign, and one must");
        let mut keys = Vec::new();
        let mut state = KeyState::Previous;
        for jwk in given {
            state = match state {
                _ if can_sign(&jwk) => KeyState::Current,
                KeyState::Current | KeyState::Standby => KeyState::Standby,
                other => other,
            };
            let id = name_key(jwk.get("kid").and_then(Value::as_str).unwrap_or_default());
            if keys.iter().any(|key: &ManagedKey| key.id == id) {
                bail!("two keys of the list have the kid {id:?}");
            }
            keys.push(ManagedKey { id, kind: KeyKind::Signing, state, since: 0, value: Value::Object(jwk) });
        }
        Ok(Self { keys: KeySet { keys, is_list: true } })
    }

    /// Puts the shared secret in use, if the list is empty: it signs until another key does.
    pub(crate) fn add_secret(&mut self, secret: &str, key_id: &str) {
        if !self.keys.keys.is_empty() || secret.is_empty() {
            return;
        }
        let mut jwk = json!({ "kty": "oct", "alg": "HS256", "k": URL_SAFE_NO_PAD.encode(secret) });
        if !key_id.is_empty() {
            jwk["kid"] = json!(key_id);
        }
        let (id, kind, state) = (name_key(key_id), KeyKind::Signing, KeyState::Current);
        self.keys.keys.push(ManagedKey { id, kind, state, since: 0, value: jwk });
    }

    /// Returns the list as JSON: earlier keys, the one in use, those on standby.
    pub(crate) fn to_json(&self) -> String {
        let mut keys: Vec<&ManagedKey> = self.keys.keys.iter().collect();
        keys.sort_by_key(|key| key.state);
        let jwks: Vec<Value> = keys.into_iter().filter_map(|key| Some(Value::Object(with_operations(key)?))).collect();
        Value::Array(jwks).to_string()
    }
}

/// Returns the id by which commands name a key: its `kid`, if it has one.
fn name_key(kid: &str) -> String {
    if kid.is_empty() { KeyKind::Signing.configured_id() } else { kid }.to_owned()
}

/// Returns the JSON Web Key of a key with the operations of its state; `None` if it is no such key.
pub(super) fn with_operations(key: &ManagedKey) -> Option<Map<String, Value>> {
    let operations = if key.state == KeyState::Current { json!(["sign", "verify"]) } else { json!(["verify"]) };
    let mut jwk = key.jwk()?.clone();
    jwk.insert("key_ops".to_owned(), operations);
    Some(jwk)
}

fn can_sign(jwk: &Map<String, Value>) -> bool {
    jwk.get("key_ops").and_then(Value::as_array).is_some_and(|operations| operations.contains(&json!("sign")))
}

/// Checks that a key has what signing needs.
pub(crate) fn check_private_part(key: &ManagedKey) -> anyhow::Result<()> {
    let has = |name: &str| key.value.get(name).is_some();
    ensure!(key.value.is_null() || has("d") || has("k"), "{} has no private part and cannot sign", key.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(id: &str) -> ManagedKey {
        let value = json!({ "kty": "EC", "kid": id, "d": "private" });
        ManagedKey { id: id.to_owned(), kind: KeyKind::Signing, state: KeyState::Standby, since: 0, value }
    }

    fn operations(list: &JwkList) -> Vec<(String, bool)> {
        let jwks: Vec<Map<String, Value>> = serde_json::from_str(&list.to_json()).expect("a list");
        let id = |jwk: &Map<String, Value>| jwk.get("kid").and_then(Value::as_str).unwrap_or_default().to_owned();
        jwks.iter().map(|jwk| (id(jwk), can_sign(jwk))).collect()
    }

    #[test]
    fn list_rotates_from_the_secret_by_overlap() {
        let mut list = JwkList::parse("").expect("an empty list");
        list.add_secret("the secret", "");
        list.keys.add(key("a")).expect("added");
        assert_eq!(operations(&list), [(String::new(), true), ("a".to_owned(), false)]);
        let mut list = JwkList::parse(&list.to_json()).expect("the same list");
        list.keys.rotate("a", 0).expect("rotated");
        assert_eq!(operations(&list), [(String::new(), false), ("a".to_owned(), true)]);
        let mut list = JwkList::parse(&list.to_json()).expect("the same list");
        list.keys.retire("jwt_secret", &Value::Null, 0).expect("retired");
        assert_eq!(operations(&list), [("a".to_owned(), true)]);
        list.add_secret("the secret", "");
        assert_eq!(operations(&list).len(), 1, "the list is not empty");
    }

    #[test]
    fn unusable_lists_are_refused() {
        for (text, problem) in [
            ("{}", "not a JSON list"),
            ("[1]", "not a JSON list"),
            ("[{\"kid\":\"a\"}]", "0 keys of the list"),
            ("[{\"kid\":\"a\",\"key_ops\":[\"sign\"]},{\"kid\":\"b\",\"key_ops\":[\"sign\"]}]", "2 keys of the list"),
            ("[{\"kid\":\"a\",\"key_ops\":[\"sign\"]},{\"kid\":\"a\"}]", "two keys of the list have the kid \"a\""),
        ] {
            let error = JwkList::parse(text).expect_err(text).to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_an_error(text in "[\\[\\]{}a-z0-9\":, ]{0,60}") {
            let _ = JwkList::parse(&text);
        }

        /// The states of keys survive their form as a list.
        #[test]
        fn states_survive(count in 1..6_usize, current in 0..6_usize) {
            let mut list = JwkList { keys: KeySet { keys: Vec::new(), is_list: true } };
            list.add_secret("the secret", "secret");
            for number in 0..count {
                list.keys.add(key(&number.to_string())).expect("added");
            }
            if current < count {
                list.keys.rotate(&current.to_string(), 0).expect("rotated");
            }
            let again = JwkList::parse(&list.to_json()).expect("a list");
            for key in &list.keys.keys {
                prop_assert_eq!(again.keys.find(&key.id).expect("the same keys").state, key.state);
            }
        }
    }
}
