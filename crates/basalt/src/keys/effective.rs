//! What a key set means for a server: which keys sign, verify and are accepted.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use foundation::secret::Secret;
use gotrue_rs::config::Config;
use http_edge::request::ApiKeyRole;
use platform::entropy::Entropy;
use serde_json::{Map, Value, json};

use super::jwk_list::with_operations;
use super::key_set::{KeyKind, KeySet, KeyState, ManagedKey};
use crate::api_keys::ApiKeys;
use crate::replicas::digest_of_value;

/// The keys in effect: those of the configuration and those that `basalt keys` has added.
#[derive(Debug, Clone)]
pub(crate) struct EffectiveKeys {
    set: KeySet,
    configured: ApiKeys,
}

impl EffectiveKeys {
    /// Combines a stored key set with the keys of the configuration.
    pub(crate) fn new(stored: &KeySet, configured: &ApiKeys) -> Self {
        Self { set: stored.with_configured(), configured: configured.clone() }
    }

    /// Adds the signing keys to the settings, unless `auth.signing_keys_path` names them.
    pub(crate) fn apply_to(&self, config: &mut Config, entropy: &Entropy) {
        let has_stored = self.set.of_kind(KeyKind::Signing).any(|key| !key.is_configured());
        if !has_stored && !self.is_secret_retired() {
            return;
        }
        if !config.jwt.keys.is_empty() {
            tracing::warn!(
                "the signing keys of `basalt keys` are not used, because auth.signing_keys_path names others"
            );
            return;
        }
        config.jwt.keys = self.list_jwks();
        if self.is_secret_retired() {
            config.jwt.secret_of_tokens = Some(Secret::from(STANDARD.encode(entropy.bytes::<48>()).as_str()));
            let is_secret = |key: &Map<String, Value>| key.get("kty") == Some(&json!("oct"));
            if let Some(methods) = &mut config.policy.jwt.valid_methods
                && !config.jwt.keys.iter().any(is_secret)
            {
                methods.retain(|method| method != "HS256");
            }
        }
    }

    /// Returns whether tokens of `auth.jwt_secret` are no longer accepted.
    pub(crate) fn is_secret_retired(&self) -> bool {
        self.set.of_kind(KeyKind::Signing).any(|key| key.is_configured() && key.state == KeyState::Retired)
    }

    /// Returns the accepted API keys that are no tokens.
    pub(crate) fn list_api_keys(&self) -> Vec<(&str, ApiKeyRole)> {
        let of_kind = |kind, role| self.accepted(kind).into_iter().map(move |key| (key, role));
        of_kind(KeyKind::Publishable, ApiKeyRole::Anon).chain(of_kind(KeyKind::Secret, ApiKeyRole::Service)).collect()
    }

    /// Returns the accepted API keys of a kind.
    pub(crate) fn accepted(&self, kind: KeyKind) -> Vec<&str> {
        self.set.of_kind(kind).filter_map(|key| self.find_text(key)).collect()
    }

    /// Returns the API key of a kind that is shown to clients.
    pub(crate) fn current(&self, kind: KeyKind) -> &str {
        let current = self.set.find_current(kind).and_then(|key| self.find_text(key));
        current.or_else(|| self.configured_text(kind)).unwrap_or_default()
    }

    /// Returns the keys as they are shown to clients.
    pub(crate) fn shown(&self) -> ApiKeys {
        ApiKeys {
            publishable_key: self.current(KeyKind::Publishable).to_owned(),
            secret_key: self.current(KeyKind::Secret).to_owned(),
            ..self.configured.clone()
        }
    }

    fn list_jwks(&self) -> Vec<Map<String, Value>> {
        let keys = self.set.of_kind(KeyKind::Signing);
        keys.filter_map(|key| match (key.is_configured(), key.state) {
            (true, KeyState::Current) => Some(build_secret_jwk(&self.configured.jwt_secret)),
            // The secret verifies tokens without a key id, whatever the list has.
            (true, _) => None,
            (false, _) => with_operations(key),
        })
        .collect()
    }

    fn configured_text(&self, kind: KeyKind) -> Option<&str> {
        match kind {
            KeyKind::Signing => None,
            KeyKind::Publishable => Some(&self.configured.publishable_key),
            KeyKind::Secret => Some(&self.configured.secret_key),
        }
    }

    /// Returns the text of an accepted API key.
    fn find_text<'a>(&'a self, key: &'a ManagedKey) -> Option<&'a str> {
        if !key.is_configured() {
            return key.value.as_str();
        }
        let text = self.configured_text(key.kind)?;
        // Another value than the retired one is a new key of the configuration.
        let is_retired =
            key.state == KeyState::Retired && key.value == json!(digest_of_value(key.kind.setting(), text));
        (!is_retired).then_some(text)
    }
}

/// Returns the JSON Web Key of the shared secret, which signs without a key id.
pub(crate) fn build_secret_jwk(secret: &str) -> Map<String, Value> {
    let jwk = json!({
        "kty": "oct", "alg": "HS256", "k": URL_SAFE_NO_PAD.encode(secret), "key_ops": ["sign", "verify"],
    });
    jwk.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_keys::demo_keys;

    fn add(set: &mut KeySet, id: &str, kind: KeyKind, value: Value) {
        set.add(ManagedKey { id: id.to_owned(), kind, state: KeyState::Standby, since: 0, value }).expect("added");
    }

    #[test]
    fn secret_signs_until_the_rotation_and_verifies_until_it_is_retired() {
        let configured = demo_keys();
        let mut set = KeySet::default();
        let apply = |set: &KeySet| {
            let mut config = Config::default();
            config.policy.jwt.valid_methods = Some(vec!["HS256".to_owned(), "ES256".to_owned()]);
            EffectiveKeys::new(set, &configured).apply_to(&mut config, &Entropy::from_seed(1));
            config
        };
        assert!(apply(&set).jwt.keys.is_empty());
        add(&mut set, "a", KeyKind::Signing, json!({ "kty": "EC", "kid": "a" }));
        let standby = apply(&set).jwt;
        assert_eq!(standby.keys[0]["key_ops"], json!(["sign", "verify"]));
        assert!(standby.keys[0].get("kid").is_none());
        assert_eq!((&standby.keys[1]["kid"], &standby.keys[1]["key_ops"]), (&json!("a"), &json!(["verify"])));
        set.rotate("a", 0).expect("rotated");
        let rotated = apply(&set).jwt;
        assert_eq!((rotated.keys.len(), &rotated.keys[0]["key_ops"]), (1, &json!(["sign", "verify"])));
        assert!(rotated.secret_of_tokens.is_none());
        set.retire("jwt_secret", &Value::Null, 0).expect("retired");
        let retired = apply(&set);
        assert!(retired.jwt.secret_of_tokens.is_some_and(|secret| secret.reveal().len() == 64));
        assert_eq!(retired.policy.jwt.valid_methods, Some(vec!["ES256".to_owned()]));
    }

    #[test]
    fn api_keys_overlap_and_a_new_configured_key_is_not_retired() {
        let mut configured = demo_keys();
        let mut set = KeySet::default();
        add(&mut set, "b", KeyKind::Secret, json!("sb_secret_b"));
        let old = configured.secret_key.clone();
        let keys = EffectiveKeys::new(&set, &configured);
        assert_eq!(
            (keys.accepted(KeyKind::Secret), keys.current(KeyKind::Secret)),
            (vec![&*old, "sb_secret_b"], &*old)
        );
        set.rotate("b", 0).expect("rotated");
        assert_eq!(EffectiveKeys::new(&set, &configured).current(KeyKind::Secret), "sb_secret_b");
        set.retire("secret_key", &json!(digest_of_value("auth.secret_key", &old)), 0).expect("retired");
        let keys = EffectiveKeys::new(&set, &configured);
        assert_eq!(keys.accepted(KeyKind::Secret), ["sb_secret_b"]);
        assert_eq!(keys.list_api_keys().len(), 2, "the publishable key of the configuration stays");
        "sb_secret_changed".clone_into(&mut configured.secret_key);
        let keys = EffectiveKeys::new(&set, &configured);
        assert_eq!(keys.accepted(KeyKind::Secret), ["sb_secret_changed", "sb_secret_b"]);
    }
}
