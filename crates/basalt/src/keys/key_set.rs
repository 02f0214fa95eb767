//! The rules of a rotation: a key is added, then used, then only accepted, then retired.

use anyhow::{bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::replicas::SIGNING_KEYS;

/// The largest number of keys of a kind.
const MAX_KEYS: usize = 16;

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyKind {
    /// Signs access tokens.
    Signing,
    /// An API key of the role `anon`.
    Publishable,
    /// An API key of the role `service_role`.
    Secret,
}

impl KeyKind {
    pub(crate) const ALL: [Self; 3] = [Self::Signing, Self::Publishable, Self::Secret];

    /// Returns its name in commands and output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Signing => "signing",
            Self::Publishable => "publishable",
            Self::Secret => "secret",
        }
    }

    /// Returns the setting of the configuration that has such keys.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Signing => SIGNING_KEYS,
            Self::Publishable => "auth.publishable_key",
            Self::Secret => "auth.secret_key",
        }
    }

    /// Returns the id of the key that the configuration or the data folder has.
    pub(crate) fn configured_id(self) -> &'static str {
        match self {
            Self::Signing => "jwt_secret",
            Self::Publishable => "publishable_key",
            Self::Secret => "secret_key",
        }
    }
}

/// What a key is used for at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyState {
    /// No longer accepted; only a configured key keeps its entry.
    Retired,
    /// Accepted, after another key has taken its place.
    Previous,
    /// Signs tokens, or is shown to clients; accepted.
    Current,
    /// Accepted and published, and not used yet.
    Standby,
}

impl KeyState {
    /// Returns its name in output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Retired => "retired",
            Self::Previous => "previous",
            Self::Current => "current",
            Self::Standby => "standby",
        }
    }
}

/// A key with its state.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ManagedKey {
    /// Its id; that of a signing key is its `kid`.
    pub id: String,
    /// What it is for.
    pub kind: KeyKind,
    /// What it is used for at present.
    pub state: KeyState,
    /// Since when, in seconds since 1970.
    pub since: i64,
    /// A JSON Web Key, or the text of an API key; null for the key of the configuration.
    pub value: Value,
}

/// Hides the key.
impl std::fmt::Debug for ManagedKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ManagedKey({} {} {})", self.kind.name(), self.id, self.state.name())
    }
}

/// All keys that `basalt keys` manages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeySet {
    /// The keys, in the order in which they were added.
    pub keys: Vec<ManagedKey>,
    /// Whether they are all, without one of the configuration for each kind.
    #[serde(skip)]
    pub is_list: bool,
}

/// A change of the key in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// The key in use from now on.
    pub current: String,
    /// The key that was in use.
    pub previous: String,
}

impl KeySet {
    /// Returns the keys of a kind.
    pub(crate) fn of_kind(&self, kind: KeyKind) -> impl Iterator<Item = &ManagedKey> {
        self.keys.iter().filter(move |key| key.kind == kind)
    }

    /// Finds the key in use; `None` if that is the one of the configuration, without an entry yet.
    pub(crate) fn find_current(&self, kind: KeyKind) -> Option<&ManagedKey> {
        self.of_kind(kind).find(|key| key.state == KeyState::Current)
    }

    /// Finds a key by its id.
    pub(crate) fn find(&self, id: &str) -> anyhow::Result<&ManagedKey> {
        match self.keys.iter().find(|key| key.id == id) {
            Some(key) => Ok(key),
            None => bail!("there is no key {id}; `basalt keys list` shows the ids"),
        }
    }

    /// Returns the keys with those of the configuration that have no entry yet.
    pub(crate) fn with_configured(&self) -> Self {
        let mut all = self.clone();
        for kind in KeyKind::ALL {
            all.add_configured(kind);
        }
        all
    }

    /// Adds a key that is accepted and not used yet.
    pub(crate) fn add(&mut self, key: ManagedKey) -> anyhow::Result<()> {
        let mut all = self.clone();
        all.add_configured(key.kind);
        ensure!(all.keys.iter().all(|other| other.id != key.id), "there is a key {} already", key.id);
        let count = all.of_kind(key.kind).filter(|other| other.state != KeyState::Retired).count();
        ensure!(count < MAX_KEYS, "there are {MAX_KEYS} keys of this type already: retire one first");
        all.keys.push(ManagedKey { state: KeyState::Standby, ..key });
        *self = all;
        Ok(())
    }

    /// Finds the key that a rotation puts in use: the given one, else the only one on standby.
    pub(crate) fn find_next(&self, kind: KeyKind, id: Option<&str>) -> anyhow::Result<&ManagedKey> {
        if let Some(id) = id {
            let key = self.find(id)?;
            ensure!(key.kind == kind, "{id} is no {} key", kind.name());
            ensure!(key.state != KeyState::Current, "{id} is in use already");
            ensure!(key.state != KeyState::Retired, "{id} is retired");
            return Ok(key);
        }
        let standby: Vec<&ManagedKey> = self.of_kind(kind).filter(|key| key.state == KeyState::Standby).collect();
        match standby.as_slice() {
            [key] => Ok(key),
            [] => bail!("no {0} key is on standby: add one first, with `basalt keys add {0}`", kind.name()),
            several => {
                let ids: Vec<&str> = several.iter().map(|key| &*key.id).collect();
                bail!("several keys are on standby: name one by its id: {}", ids.join(", "))
            }
        }
    }

    /// Puts a key in use; the one before stays accepted.
    pub(crate) fn rotate(&mut self, id: &str, now: i64) -> anyhow::Result<Rotation> {
        let kind = self.find(id)?.kind;
        self.find_next(kind, Some(id))?;
        let mut rotation = Rotation { current: id.to_owned(), previous: String::new() };
        for key in self.keys.iter_mut().filter(|key| key.kind == kind) {
            let state = match key.state {
                KeyState::Current => {
                    rotation.previous.clone_from(&key.id);
                    KeyState::Previous
                }
                _ if key.id == id => KeyState::Current,
                other => other,
            };
            if state != key.state {
                (key.state, key.since) = (state, now);
            }
        }
        Ok(rotation)
    }

    /// Finds a key that may be retired.
    pub(crate) fn find_retirable(&self, id: &str) -> anyhow::Result<ManagedKey> {
        let all = self.with_configured();
        let key = all.find(id)?;
        match (key.state, key.kind) {
            (KeyState::Retired, _) => bail!("{id} is retired already"),
            (KeyState::Current, KeyKind::Signing) => {
                bail!("{id} signs access tokens: `basalt keys rotate signing` puts another key in its place first")
            }
            (KeyState::Current, kind) => {
                bail!("{id} is in use: `basalt keys rotate {}` puts another key in its place first", kind.name())
            }
            (KeyState::Previous | KeyState::Standby, _) => Ok(key.clone()),
        }
    }

    /// Ends the acceptance of a key; `configured` identifies the value of one of the configuration.
    pub(crate) fn retire(&mut self, id: &str, configured: &Value, now: i64) -> anyhow::Result<()> {
        let key = self.find_retirable(id)?;
        if key.value.is_null() {
            self.add_configured(key.kind);
            for entry in self.keys.iter_mut().filter(|entry| entry.id == id) {
                (entry.state, entry.since, entry.value) = (KeyState::Retired, now, configured.clone());
            }
        } else {
            self.keys.retain(|entry| entry.id != id);
        }
        Ok(())
    }

    /// Adds the entry of the configured key of a kind: in use, if no other key is.
    fn add_configured(&mut self, kind: KeyKind) {
        let id = kind.configured_id();
        if !self.is_list && self.of_kind(kind).all(|key| key.id != id) {
            let state = if self.find_current(kind).is_some() { KeyState::Previous } else { KeyState::Current };
            self.keys.insert(0, ManagedKey { id: id.to_owned(), kind, state, since: 0, value: Value::Null });
        }
    }
}

impl ManagedKey {
    /// Returns the members of a signing key that `basalt keys` made.
    pub(crate) fn jwk(&self) -> Option<&serde_json::Map<String, Value>> {
        self.value.as_object().filter(|_| self.kind == KeyKind::Signing)
    }

    /// Returns whether the key is that of the configuration.
    pub(crate) fn is_configured(&self) -> bool {
        self.id == self.kind.configured_id()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn key(id: &str, kind: KeyKind) -> ManagedKey {
        ManagedKey { id: id.to_owned(), kind, state: KeyState::Standby, since: 1, value: json!(id) }
    }

    fn states(set: &KeySet, kind: KeyKind) -> Vec<(&str, KeyState)> {
        set.of_kind(kind).map(|key| (&*key.id, key.state)).collect()
    }

    #[test]
    fn key_is_added_then_used_then_accepted_then_retired() {
        use KeyState::{Current, Previous, Retired, Standby};
        let mut set = KeySet::default();
        set.add(key("a", KeyKind::Signing)).expect("added");
        assert_eq!(states(&set, KeyKind::Signing), [("jwt_secret", Current), ("a", Standby)]);
        assert!(set.retire("jwt_secret", &Value::Null, 2).is_err(), "the key in use stays");
        let next = set.find_next(KeyKind::Signing, None).expect("one is on standby").id.clone();
        let rotation = set.rotate(&next, 3).expect("rotated");
        assert_eq!((&*rotation.current, &*rotation.previous), ("a", "jwt_secret"));
        assert_eq!(states(&set, KeyKind::Signing), [("jwt_secret", Previous), ("a", Current)]);
        set.retire("jwt_secret", &json!("digest"), 4).expect("retired");
        assert_eq!(states(&set, KeyKind::Signing), [("jwt_secret", Retired), ("a", Current)]);
        assert!(set.rotate("jwt_secret", 5).is_err(), "a retired key stays retired");
        assert!(set.retire("a", &Value::Null, 5).is_err());
        set.add(key("b", KeyKind::Signing)).expect("added");
        set.rotate("b", 6).expect("rotated");
        set.retire("a", &Value::Null, 7).expect("retired");
        assert_eq!(states(&set, KeyKind::Signing), [("jwt_secret", Retired), ("b", Current)]);
        assert!(states(&set, KeyKind::Secret).is_empty());
    }

    #[test]
    fn rotation_names_what_is_missing_or_ambiguous() {
        let mut set = KeySet::default();
        let error = |set: &KeySet, id| set.find_next(KeyKind::Secret, id).expect_err("refused").to_string();
        assert!(error(&set, None).contains("basalt keys add secret"));
        set.add(key("a", KeyKind::Secret)).expect("added");
        set.add(key("b", KeyKind::Secret)).expect("added");
        assert!(error(&set, None).ends_with("a, b"));
        assert!(error(&set, Some("c")).starts_with("there is no key c"));
        assert!(set.find_next(KeyKind::Signing, Some("a")).is_err(), "another kind");
        assert!(set.add(key("a", KeyKind::Secret)).is_err(), "the id is taken");
    }

    #[test]
    fn number_of_keys_is_limited() {
        let mut set = KeySet::default();
        for number in 1..MAX_KEYS {
            set.add(key(&number.to_string(), KeyKind::Secret)).expect("added");
        }
        assert!(set.add(key("more", KeyKind::Secret)).is_err());
        set.add(key("other", KeyKind::Publishable)).expect("another kind");
    }

    proptest! {
        /// Each kind with entries has exactly one key in use after any steps, also after JSON.
        #[test]
        fn one_key_is_in_use(steps in proptest::collection::vec((0..3_usize, 0..3_usize, 0..6_usize), 0..40)) {
            let mut set = KeySet::default();
            for (step, kind, id) in steps {
                let (kind, id) = (KeyKind::ALL[kind], format!("{kind}-{id}"));
                let before = set.clone();
                let done = match step {
                    0 => set.add(key(&id, kind)),
                    1 => set.rotate(&id, 2).map(drop),
                    _ => set.retire(if id.ends_with('0') { kind.configured_id() } else { &id }, &json!("d"), 3),
                };
                prop_assert!(done.is_ok() || set == before, "a refused step changes nothing");
                for kind in KeyKind::ALL {
                    let used = set.of_kind(kind).filter(|key| key.state == KeyState::Current).count();
                    prop_assert_eq!(used, usize::from(set.of_kind(kind).count() > 0));
                }
            }
            let text = serde_json::to_string(&set).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<KeySet>(&text).expect("a set"), set);
        }
    }
}
