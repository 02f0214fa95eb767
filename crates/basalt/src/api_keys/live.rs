//! The API keys that a running server accepts; a rotation replaces them.

use std::sync::{Arc, PoisonError, RwLock};

use http_edge::request::{ApiKeyRing, ApiKeyRole};

use super::keys::ApiKeys;
use super::store::DEMO_SERVICE_ROLE_KEY;

/// The accepted API keys. Clones share them, so that all services accept the same.
#[derive(Debug, Clone)]
pub(crate) struct LiveApiKeys {
    ring: ApiKeyRing,
    opaque_ring: ApiKeyRing,
    shown: Arc<RwLock<ShownKeys>>,
}

/// The keys that the server itself uses.
#[derive(Clone)]
pub(crate) struct ShownKeys {
    /// The publishable key of pages.
    pub publishable_key: String,
    /// The token with which the role `anon` is sent to the services.
    pub anon_token: String,
    pub service_role_token: String,
    /// Whether these tokens are accepted as API keys, too.
    pub are_tokens_keys: bool,
}

/// Hides the keys.
impl std::fmt::Debug for ShownKeys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("ShownKeys(…)")
    }
}

impl LiveApiKeys {
    /// Accepts the keys of the configuration.
    pub(crate) fn new(keys: &ApiKeys) -> Self {
        let shown = ShownKeys {
            publishable_key: keys.publishable_key.clone(),
            anon_token: keys.anon_key.clone(),
            service_role_token: keys.service_role_key.clone(),
            are_tokens_keys: true,
        };
        let live = Self {
            ring: ApiKeyRing::default(),
            opaque_ring: ApiKeyRing::default(),
            shown: Arc::new(RwLock::new(shown.clone())),
        };
        let opaque = [(&*keys.publishable_key, ApiKeyRole::Anon), (&*keys.secret_key, ApiKeyRole::Service)];
        live.replace(&opaque, shown);
        live
    }

    /// Accepts these keys, and the tokens of `shown` if they are keys, in place of all others.
    pub(crate) fn replace(&self, opaque: &[(&str, ApiKeyRole)], shown: ShownKeys) {
        let tokens = [(&*shown.anon_token, ApiKeyRole::Anon), (&*shown.service_role_token, ApiKeyRole::Service)];
        let tokens = tokens.into_iter().filter(|_| shown.are_tokens_keys);
        self.ring.replace(opaque.iter().copied().chain(tokens));
        self.opaque_ring.replace(opaque.iter().copied());
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = shown;
    }

    /// Returns all keys with their roles.
    pub(super) fn ring(&self) -> &ApiKeyRing {
        &self.ring
    }

    /// Returns the keys that are no tokens.
    pub(crate) fn opaque_ring(&self) -> ApiKeyRing {
        self.opaque_ring.clone()
    }

    /// Returns the keys that the server itself uses.
    pub(crate) fn shown(&self) -> ShownKeys {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the keys are those that the Supabase CLI publishes.
    pub(super) fn are_published(&self) -> bool {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.service_role_token == DEMO_SERVICE_ROLE_KEY
    }

    /// Returns the token with which a role is sent to the services.
    pub(super) fn token(&self, role: ApiKeyRole) -> String {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        match role {
            ApiKeyRole::Anon => shown.anon_token.clone(),
            ApiKeyRole::Service => shown.service_role_token.clone(),
        }
    }
}
