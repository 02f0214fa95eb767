//! The keys of a running server, which `basalt keys` changes.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use foundation::error_chain::ErrorChain;
use gotrue_rs::app::App;
use gotrue_rs::config::Config;
use http_edge::request::ApiKeyRole;
use platform::entropy::Entropy;
use platform::store::Pool;
use serde_json::Value;
use tokio::sync::watch;

use crate::announce::RunningServer;
use crate::api_keys::{ApiKeys, LiveApiKeys, RoleClaims, ShownKeys};
use crate::keys::{EffectiveKeys, KeyKind, KeySetStore, build_secret_jwk};
use crate::replicas::Fingerprints;

/// The keys of a running server.
pub(super) struct LiveKeys {
    /// The accepted API keys.
    pub live: LiveApiKeys,
    store: KeySetStore,
    version: i64,
    effective: EffectiveKeys,
    configured: Arc<ApiKeys>,
    /// The publishable key in the pages, which are built at the start.
    page_key: Option<String>,
    fingerprints: watch::Sender<Value>,
    data: PathBuf,
    entropy: Entropy,
}

impl LiveKeys {
    /// Loads the stored keys of the database; `has_pages` says whether pages contain the publishable key.
    pub(super) async fn load(
        pool: &Pool,
        configured: &Arc<ApiKeys>,
        data: PathBuf,
        has_pages: bool,
    ) -> anyhow::Result<Self> {
        let store = KeySetStore::new(pool.clone(), &configured.jwt_secret);
        let stored = store.load().await?;
        let effective = EffectiveKeys::new(&stored.keys, configured);
        let shown = effective.shown();
        Ok(Self {
            live: LiveApiKeys::new(&shown),
            store,
            version: stored.version,
            page_key: has_pages.then_some(shown.publishable_key),
            effective,
            configured: Arc::clone(configured),
            fingerprints: watch::Sender::new(Value::Null),
            data,
            entropy: Entropy::from_system(),
        })
    }

    /// Returns the publishable key in the pages, if there are any.
    pub(super) fn page_key(&self) -> Option<String> {
        self.page_key.clone()
    }

    /// Returns the keys as they are shown to clients.
    pub(super) fn shown(&self) -> ApiKeys {
        self.effective.shown()
    }

    /// Adds the signing keys to the settings.
    pub(super) fn apply_to(&self, config: &mut Config) {
        self.effective.apply_to(config, &self.entropy);
    }

    /// Returns the digests of these keys, and later ones.
    pub(super) fn fingerprints(&self, config: &Config) -> (Fingerprints, watch::Receiver<Value>) {
        let page_key = self.page_key.as_deref().unwrap_or_else(|| self.effective.current(KeyKind::Publishable));
        let (secret, keys) = (&*self.configured.jwt_secret, &self.effective);
        let secret_jwk = (!keys.is_secret_retired()).then(|| build_secret_jwk(secret));
        let mut fingerprints = Fingerprints::new(config);
        fingerprints.add("auth.jwt_secret", secret, &[secret]);
        fingerprints.add(KeyKind::Publishable.setting(), page_key, &keys.accepted(KeyKind::Publishable));
        fingerprints.add(KeyKind::Secret.setting(), keys.current(KeyKind::Secret), &keys.accepted(KeyKind::Secret));
        fingerprints.add_signing_keys(&config.jwt.keys, secret_jwk.as_ref());
        self.fingerprints.send_replace(fingerprints.to_json());
        (fingerprints, self.fingerprints.subscribe())
    }

    /// Accepts the API keys of the latest set, and reports its digests and version; `app` has its signing keys.
    pub(super) fn publish(&self, config: &Config, app: &App) -> anyhow::Result<()> {
        let are_tokens_keys = !self.effective.is_secret_retired();
        let token = |role, configured: &str| {
            if are_tokens_keys {
                return Ok(configured.to_owned());
            }
            app.keys.sign(&RoleClaims::new(role, app.clock.now())).context("signing the token of a role")
        };
        let shown = ShownKeys {
            publishable_key: self.effective.current(KeyKind::Publishable).to_owned(),
            anon_token: token(ApiKeyRole::Anon, &self.configured.anon_key)?,
            service_role_token: token(ApiKeyRole::Service, &self.configured.service_role_key)?,
            are_tokens_keys,
        };
        self.live.replace(&self.effective.list_api_keys(), shown);
        drop(self.fingerprints(config));
        self.update_status();
        Ok(())
    }

    /// Loads a changed key set; returns whether there is one.
    ///
    /// A set that cannot be loaded changes nothing, and is tried again at the next call.
    pub(super) async fn poll(&mut self) -> bool {
        match self.store.load_other_version(self.version).await {
            Ok(None) => false,
            Ok(Some(stored)) => {
                self.version = stored.version;
                self.effective = EffectiveKeys::new(&stored.keys, &self.configured);
                true
            }
            Err(error) => {
                tracing::debug!(error = %ErrorChain(error.as_ref()), "changed keys could not be loaded");
                false
            }
        }
    }

    /// Returns the version of the latest key set.
    pub(super) fn version(&self) -> i64 {
        self.version
    }

    /// Shows changed keys in `basalt status`, and their version to `basalt keys`, which waits for it.
    fn update_status(&self) {
        let Some(mut running) = RunningServer::read(&self.data) else { return };
        if running.keys_version == Some(self.version) {
            return;
        }
        running.set_keys(&self.effective.shown());
        running.keys_version = Some(self.version);
        if let Err(error) = running.write(&self.data) {
            tracing::debug!(%error, "the keys for `basalt status` could not be written");
        }
    }
}
