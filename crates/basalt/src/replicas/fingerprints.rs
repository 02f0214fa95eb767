//! Digests of the keys and settings in which the replicas of a database must agree.

use aws_lc_rs::digest::{SHA256, digest};
use gotrue_rs::config::Config;
use platform::store::replicas::LiveReplica;
use serde_json::{Map, Value, json};

/// Bytes of a digest: enough to tell two values apart.
const DIGEST_LENGTH: usize = 16;
/// The name by which signing keys are reported.
pub(crate) const SIGNING_KEYS: &str = "auth.signing_keys_path";

/// The digests of one replica, by the name of the key or setting.
///
/// Each has the value that the replica uses and those that it accepts from others, so that a key can be rotated: it is
/// accepted everywhere before it is used anywhere.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fingerprints(Map<String, Value>);

impl Fingerprints {
    /// Computes the digests of the settings of a server, without its keys.
    pub(crate) fn new(config: &Config) -> Self {
        let mut all = Self::default();
        let policy = &config.policy;
        for (name, value) in [("auth.external_url", &policy.site.external_url), ("auth.jwt_issuer", &policy.jwt.issuer)]
        {
            all.add(name, value, &[value]);
        }
        all
    }

    /// Returns the digests as JSON.
    pub(crate) fn to_json(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Returns the names in which a replica differs.
    ///
    /// It does not accept the value used here, or the reverse.
    ///
    /// What one of the two does not name is not compared: their versions differ.
    pub(crate) fn list_differences(&self, replica: &LiveReplica) -> Vec<&str> {
        let differs = |(name, ours): &(&String, &Value)| {
            let theirs = &replica.fingerprints[name.as_str()];
            theirs.is_object() && !(accepts(ours, &theirs["uses"]) && accepts(theirs, &ours["uses"]))
        };
        self.0.iter().filter(differs).map(|(name, _)| name.as_str()).collect()
    }

    /// Adds a value that the server uses, and those that it accepts.
    pub(crate) fn add(&mut self, name: &str, used: &str, accepted: &[&str]) {
        let accepted: Vec<String> = accepted.iter().map(|value| compute_digest(name, value)).collect();
        self.0.insert(name.to_owned(), json!({ "uses": compute_digest(name, used), "accepts": accepted }));
    }

    /// Adds the signing keys, and the shared secret if it is accepted.
    ///
    /// The secret signs if no other key does.
    pub(crate) fn add_signing_keys(&mut self, keys: &[Map<String, Value>], secret: Option<&Map<String, Value>>) {
        let texts: Vec<String> = keys.iter().chain(secret).map(describe_key).collect();
        let signs = |key: &&Map<String, Value>| {
            key.get("key_ops").and_then(Value::as_array).is_some_and(|operations| operations.contains(&json!("sign")))
        };
        if let Some(used) = keys.iter().find(signs).or(secret).map(describe_key) {
            self.add(SIGNING_KEYS, &used, &texts.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}

/// Returns the digest by which replicas report a value.
pub(crate) fn digest_of_value(name: &str, value: &str) -> String {
    compute_digest(name, value)
}

/// Returns the digest by which replicas report a signing key.
pub(crate) fn digest_of_signing_key(key: &Map<String, Value>) -> String {
    compute_digest(SIGNING_KEYS, &describe_key(key))
}

/// Returns whether the replica accepts the value of this digest.
pub(crate) fn accepts_digest(replica: &LiveReplica, name: &str, digest: &str) -> bool {
    accepts(&replica.fingerprints[name], &json!(digest))
}

/// Returns whether the replica uses the value of this digest, or does not report what it uses.
pub(crate) fn uses_digest(replica: &LiveReplica, name: &str, digest: &str) -> bool {
    let fingerprint = &replica.fingerprints[name];
    !fingerprint.is_object() || fingerprint["uses"] == digest
}

fn accepts(fingerprint: &Value, digest: &Value) -> bool {
    fingerprint["accepts"].as_array().is_some_and(|accepted| accepted.contains(digest))
}

/// Returns the members that identify a key, with and without its private part (RFC 7638 §3.2).
fn describe_key(key: &Map<String, Value>) -> String {
    let member = |name: &&str| key.get(*name).and_then(Value::as_str).map(|text| format!("{name}={text}"));
    let members: Vec<String> = ["kid", "kty", "crv", "x", "y", "n", "e", "k"].iter().filter_map(member).collect();
    members.join("\n")
}

/// Returns the digest of a value.
///
/// The secrets among the values are long and random, so that a digest does not reveal them.
fn compute_digest(name: &str, value: &str) -> String {
    hex::encode(&digest(&SHA256, format!("{name}\0{value}").as_bytes()).as_ref()[..DIGEST_LENGTH])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn key(id: &str, signs: bool) -> Map<String, Value> {
        let operations = if signs { json!(["sign", "verify"]) } else { json!(["verify"]) };
        let key = json!({ "kid": id, "kty": "EC", "crv": "P-256", "x": id, "y": "1", "key_ops": operations });
        key.as_object().cloned().unwrap_or_default()
    }

    fn with_keys(keys: &[Map<String, Value>]) -> Fingerprints {
        let mut all = Fingerprints::default();
        all.add_signing_keys(keys, None);
        all
    }

    fn replica(fingerprints: &Fingerprints) -> LiveReplica {
        LiveReplica { id: Uuid::nil(), version: "0.1.0".to_owned(), age: 1, fingerprints: fingerprints.to_json() }
    }

    #[test]
    fn rotation_by_overlap_is_accepted_and_a_jump_is_not() {
        let steps = [
            with_keys(&[key("a", true)]),
            with_keys(&[key("a", true), key("b", false)]),
            with_keys(&[key("a", false), key("b", true)]),
            with_keys(&[key("b", true)]),
        ];
        for pair in steps.windows(2) {
            assert_eq!(pair[1].list_differences(&replica(&pair[0])), Vec::<&str>::new());
        }
        for (older, newer) in [(0, 2), (0, 3), (1, 3)] {
            assert_eq!(steps[newer].list_differences(&replica(&steps[older])), ["auth.signing_keys_path"]);
        }
    }

    #[test]
    fn secret_signs_without_a_list_and_is_accepted_beside_it() {
        let secret = json!({ "kty": "oct", "k": "secret", "key_ops": ["sign", "verify"] });
        let secret = secret.as_object().cloned().unwrap_or_default();
        let build = |keys: &[Map<String, Value>], secret: Option<&Map<String, Value>>| {
            let mut all = Fingerprints::default();
            all.add_signing_keys(keys, secret);
            all
        };
        let steps = [
            build(&[], Some(&secret)),
            build(&[secret.clone(), key("a", false)], Some(&secret)),
            build(&[key("a", true)], Some(&secret)),
            build(&[key("a", true)], None),
        ];
        for pair in steps.windows(2) {
            assert_eq!(pair[1].list_differences(&replica(&pair[0])), Vec::<&str>::new());
        }
        assert_eq!(steps[2].list_differences(&replica(&steps[0])), ["auth.signing_keys_path"]);
        assert_eq!(steps[3].list_differences(&replica(&steps[1])), ["auth.signing_keys_path"]);
        let (running, digest) = (replica(&steps[1]), digest_of_signing_key(&key("a", false)));
        assert!(accepts_digest(&running, SIGNING_KEYS, &digest) && !uses_digest(&running, SIGNING_KEYS, &digest));
        assert!(uses_digest(&running, SIGNING_KEYS, &digest_of_signing_key(&secret)));
    }

    proptest! {
        #[test]
        fn different_values_differ_in_both_directions(one in ".{1,40}", other in ".{1,40}") {
            let build = |value: &str| {
                let mut all = Fingerprints::default();
                all.add("auth.secret_key", value, &[value]);
                all
            };
            let (ours, theirs) = (build(&one), build(&other));
            prop_assert_eq!(ours.list_differences(&replica(&theirs)).is_empty(), one == other);
            prop_assert_eq!(theirs.list_differences(&replica(&ours)).is_empty(), one == other);
        }
    }
}
