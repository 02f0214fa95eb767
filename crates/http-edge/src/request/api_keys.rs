//! The API keys of a project, compared in constant time.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use subtle::{Choice, ConstantTimeEq};

/// What an API key permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiKeyRole {
    /// Any client: the publishable key and the token of the role `anon`.
    Anon,
    /// The operator, with every operation allowed: the secret key and the token of the role `service_role`.
    Service,
}

impl ApiKeyRole {
    /// Returns the value of the `role` claim.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anon => "anon",
            Self::Service => "service_role",
        }
    }
}

type KnownKeys = Vec<(Box<str>, ApiKeyRole)>;

/// The known API keys with their roles. Clones share them.
#[derive(Clone, Default)]
pub struct ApiKeyRing(Arc<RwLock<KnownKeys>>);

impl ApiKeyRing {
    /// Creates a ring of these keys; an empty key is left out.
    pub fn new<'a>(keys: impl IntoIterator<Item = (&'a str, ApiKeyRole)>) -> Self {
        let ring = Self::default();
        ring.replace(keys);
        ring
    }

    /// Knows these keys in place of all others, as do all clones; an empty key is left out.
    pub fn replace<'a>(&self, keys: impl IntoIterator<Item = (&'a str, ApiKeyRole)>) {
        let keys = keys.into_iter().filter(|(key, _)| !key.is_empty()).map(|(key, role)| (key.into(), role)).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// Returns the role of a key; `None` if the key is unknown.
    /// Every key is compared, in constant time for keys of equal length. A key of both roles is the operator's.
    pub fn find_role(&self, key: &str) -> Option<ApiKeyRole> {
        let (mut is_anon, mut is_service) = (Choice::from(0), Choice::from(0));
        for (known, role) in &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            let is_equal = known.as_bytes().ct_eq(key.as_bytes());
            match role {
                ApiKeyRole::Anon => is_anon |= is_equal,
                ApiKeyRole::Service => is_service |= is_equal,
            }
        }
        match (bool::from(is_service), bool::from(is_anon)) {
            (true, _) => Some(ApiKeyRole::Service),
            (false, true) => Some(ApiKeyRole::Anon),
            (false, false) => None,
        }
    }
}

/// Hides the keys.
impl fmt::Debug for ApiKeyRing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ApiKeyRing({} keys)", self.0.read().unwrap_or_else(PoisonError::into_inner).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_is_found_by_exact_key() {
        use ApiKeyRole::{Anon, Service};
        let ring =
            ApiKeyRing::new([("sb_publishable_1", Anon), ("sb_secret_1", Service), ("", Service), ("jwt.anon", Anon)]);
        for (key, role) in [
            ("sb_publishable_1", Some(Anon)),
            ("jwt.anon", Some(Anon)),
            ("sb_secret_1", Some(Service)),
            ("sb_secret_", None),
            ("sb_secret_12", None),
            ("SB_SECRET_1", None),
            ("", None),
        ] {
            assert_eq!(ring.find_role(key), role, "{key}");
        }
        assert_eq!(ApiKeyRing::new([("both", Service), ("both", Anon)]).find_role("both"), Some(Service));
        assert_eq!(format!("{ring:?}"), "ApiKeyRing(3 keys)");
    }

    #[test]
    fn clones_know_replaced_keys() {
        let ring = ApiKeyRing::new([("sb_secret_1", ApiKeyRole::Service)]);
        let clone = ring.clone();
        ring.replace([("sb_secret_2", ApiKeyRole::Service)]);
        assert_eq!(clone.find_role("sb_secret_2"), Some(ApiKeyRole::Service));
        assert_eq!(clone.find_role("sb_secret_1"), None);
    }
}
