//! The commands that change the stored keys of a project.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use data_folder::is_in_use;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use platform::store::replicas::LiveReplica;
use serde_json::{Value, json};

use crate::announce::RunningServer;
use crate::api_keys::{self, ApiKeys};
use crate::keys::{
    KeyKind, KeySet, KeySetStore, KeyState, ManagedKey, Rotation, SigningAlgorithm, VersionedKeys, build_secret_jwk,
    generate_signing_key,
};
use crate::project::Project;
use crate::replicas::{self, accepts_digest, digest_of_signing_key, digest_of_value, uses_digest};
use crate::users::{DatabaseArguments, UserDatabase};

/// How long verifiers keep the published keys: the `max-age` of `/.well-known/jwks.json`, in seconds.
const JWKS_LIFETIME: i64 = 600;
/// How long servers may sign with a key after another one is in use, in seconds.
const TAKE_UP_SECONDS: i64 = 30;
/// How long a command waits for the running servers: to be ready for a change, and to take it up.
const REPLICA_PATIENCE: Duration = Duration::from_secs(20);
const REPLICA_INTERVAL: Duration = Duration::from_millis(250);

/// The keys of a project, in its database.
pub(crate) struct ProjectKeys {
    database: UserDatabase,
    store: KeySetStore,
    latest: VersionedKeys,
    configured: ApiKeys,
    data: PathBuf,
    /// The lifetime of access tokens, in seconds.
    token_lifetime: i64,
    has_signing_keys_path: bool,
    /// Whether a server runs with the data folder and the database.
    has_running_server: bool,
    entropy: Entropy,
}

/// The outcome of a retirement.
pub(crate) struct Retirement {
    /// What else stops working.
    pub warning: Option<String>,
    /// Whether all running servers refuse the key already.
    pub is_refused: bool,
}

impl ProjectKeys {
    /// Opens the keys in the database of the arguments, as the account commands do.
    ///
    /// # Errors
    /// No server has been started yet, or the database cannot be reached.
    pub(crate) async fn open(arguments: &DatabaseArguments) -> anyhow::Result<Self> {
        let project = Project::load(&arguments.project)?;
        let entropy = Entropy::from_system();
        let stored = api_keys::load(&project.data)?;
        let given = project.configured_keys();
        let has_all = given.jwt_secret.is_some() && given.publishable_key.is_some() && given.secret_key.is_some();
        ensure!(
            stored.is_some() || has_all,
            "nothing was started yet with the folder {}: `basalt serve` makes keys and database",
            project.data.display()
        );
        let configured = api_keys::combine(stored.as_ref(), &given, &entropy, SystemClock.now())?;
        let config = project.settings("http://127.0.0.1", &configured)?;
        let has_running_server = arguments.database_url.is_none() && RunningServer::read(&project.data).is_some();
        let database = UserDatabase::connect(arguments).await?;
        let store = KeySetStore::new(database.pool.clone(), &configured.jwt_secret);
        let latest = store.load().await?;
        Ok(Self {
            database,
            store,
            latest,
            configured,
            data: project.data.clone(),
            token_lifetime: config.policy.jwt.exp,
            has_signing_keys_path: !config.jwt.keys.is_empty(),
            has_running_server,
            entropy,
        })
    }

    /// Closes the connections.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.database.close().await
    }

    /// Returns all keys, with those of the configuration.
    ///
    /// The signing keys of `auth.signing_keys_path` are not among them.
    pub(crate) fn list(&self) -> KeySet {
        let mut all = self.latest.keys.with_configured();
        all.keys.retain(|key| key.kind != KeyKind::Signing || !self.has_signing_keys_path);
        all
    }

    /// Adds a key on standby.
    pub(crate) async fn add(&mut self, kind: KeyKind, algorithm: SigningAlgorithm) -> anyhow::Result<ManagedKey> {
        self.check_kind(kind)?;
        let (id, value) = match kind {
            KeyKind::Signing => {
                let jwk = generate_signing_key(algorithm, &self.entropy)?;
                (jwk["kid"].as_str().unwrap_or_default().to_owned(), Value::Object(jwk))
            }
            KeyKind::Publishable | KeyKind::Secret => {
                let prefix = format!("sb_{}_", kind.name());
                let key = api_keys::generate_api_key(&self.entropy, &prefix);
                (self.entropy.uuid().to_string(), json!(key))
            }
        };
        let key = ManagedKey { id, kind, state: KeyState::Standby, since: now(), value };
        let mut keys = self.latest.keys.clone();
        keys.add(key.clone())?;
        self.store_keys(keys).await?;
        Ok(key)
    }

    /// Puts another key in use once all running servers accept it.
    ///
    /// `is_immediate`: verifiers that keep the published keys may not know it yet.
    pub(crate) async fn rotate(
        &mut self,
        kind: KeyKind,
        id: Option<&str>,
        is_immediate: bool,
    ) -> anyhow::Result<Rotation> {
        self.check_kind(kind)?;
        let next = self.latest.keys.find_next(kind, id)?.clone();
        let remaining = next.since + JWKS_LIFETIME - now();
        let is_new = kind == KeyKind::Signing && next.state == KeyState::Standby && remaining > 0;
        if is_new && !is_immediate {
            bail!(
                "the key was added less than {} minutes ago: verifiers that keep the published keys may not know it. Wait {remaining} s, \
                 or use --now if nothing else verifies tokens",
                JWKS_LIFETIME / 60
            );
        }
        let digest = self.digest(&next);
        self.wait_for_replicas(
            |replica| accepts_digest(replica, kind.setting(), &digest),
            "does not accept the key yet",
        )
        .await?;
        let mut keys = self.latest.keys.clone();
        let rotation = keys.rotate(&next.id, now())?;
        self.store_keys(keys).await?;
        Ok(rotation)
    }

    /// Ends the acceptance of a key that is not in use, and waits until the running servers refuse it.
    ///
    /// `is_immediate`: tokens that it has signed may not have expired yet.
    pub(crate) async fn retire(&mut self, id: &str, is_immediate: bool) -> anyhow::Result<Retirement> {
        let key = self.latest.keys.find_retirable(id)?;
        self.check_kind(key.kind)?;
        let remaining = (key.since + TAKE_UP_SECONDS - now()).saturating_add(self.token_lifetime);
        let has_signed = key.kind == KeyKind::Signing && key.state == KeyState::Previous;
        if has_signed && remaining > 0 && !is_immediate {
            bail!(
                "access tokens that {id} has signed live for {} s: the last one expires in {remaining} s. Wait, or use --now to \
                 refuse them at once; their sessions continue with the refresh token",
                self.token_lifetime
            );
        }
        let digest = self.digest(&key);
        let what = if key.kind == KeyKind::Publishable {
            "has the key in its pages: restart it first"
        } else {
            "uses the key"
        };
        self.wait_for_replicas(|replica| !uses_digest(replica, key.kind.setting(), &digest), what).await?;
        self.check_pages(&key)?;
        let mut keys = self.latest.keys.clone();
        keys.retire(id, &json!(digest), now())?;
        self.store_keys(keys).await?;
        let is_ready = |replica: &LiveReplica| !accepts_digest(replica, key.kind.setting(), &digest);
        let waiting = self.find_waiting_replica(is_ready).await;
        let is_refused = waiting.is_ok_and(|waiting| waiting.is_none()) && self.wait_for_running_server().await;
        let warning = (has_signed && key.is_configured()).then(|| {
            "the keys anon_key and service_role_key are tokens of this secret, and are no longer accepted".to_owned()
        });
        Ok(Retirement { warning, is_refused })
    }

    /// Refuses signing keys where a file has them.
    fn check_kind(&self, kind: KeyKind) -> anyhow::Result<()> {
        if kind == KeyKind::Signing && self.has_signing_keys_path {
            bail!(
                "auth.signing_keys_path names the file of the signing keys: `basalt keys --file FILE …` prints its next content"
            );
        }
        Ok(())
    }

    /// Refuses a publishable key that is in the pages of a server with an embedded database.
    fn check_pages(&self, key: &ManagedKey) -> anyhow::Result<()> {
        let Some(page_key) = RunningServer::read(&self.data).and_then(|running| running.page_key) else {
            return Ok(());
        };
        let text = key.value.as_str().unwrap_or(&self.configured.publishable_key);
        let is_in_pages = key.kind == KeyKind::Publishable && page_key == text;
        ensure!(!is_in_pages, "the running server has the key in its pages: restart it first");
        Ok(())
    }

    fn digest(&self, key: &ManagedKey) -> String {
        let text = |configured: &str| digest_of_value(key.kind.setting(), key.value.as_str().unwrap_or(configured));
        match (key.kind, key.jwk()) {
            (KeyKind::Signing, Some(jwk)) => digest_of_signing_key(jwk),
            (KeyKind::Signing, None) => digest_of_signing_key(&build_secret_jwk(&self.configured.jwt_secret)),
            (KeyKind::Publishable, _) => text(&self.configured.publishable_key),
            (KeyKind::Secret, _) => text(&self.configured.secret_key),
        }
    }

    /// Waits until all running servers of an external database are ready for a change.
    async fn wait_for_replicas(&self, is_ready: impl Fn(&LiveReplica) -> bool, what: &str) -> anyhow::Result<()> {
        let Some(waiting) = self.find_waiting_replica(is_ready).await? else { return Ok(()) };
        bail!(
            "the running server {} of version {}, seen {} s ago, {what}; nothing was changed. A server that has crashed counts \
             for 20 s",
            waiting.id,
            waiting.version,
            waiting.age
        );
    }

    /// Waits until all running servers of an external database are ready; returns one that is not in time.
    async fn find_waiting_replica(
        &self,
        is_ready: impl Fn(&LiveReplica) -> bool,
    ) -> anyhow::Result<Option<LiveReplica>> {
        let started = Instant::now();
        loop {
            let live = replicas::list_live(&self.database.pool).await?;
            let waiting = live.into_iter().find(|replica| !is_ready(replica));
            if waiting.is_none() || started.elapsed() > REPLICA_PATIENCE {
                return Ok(waiting);
            }
            tokio::time::sleep(REPLICA_INTERVAL).await;
        }
    }

    /// Waits until the server with the data folder uses the stored keys or has ended; returns whether that is so in time.
    async fn wait_for_running_server(&self) -> bool {
        let started = Instant::now();
        while self.has_running_server && is_in_use(&self.data) {
            let used = RunningServer::read(&self.data).and_then(|running| running.keys_version);
            if used.is_some_and(|used| used >= self.latest.version) {
                return true;
            }
            if started.elapsed() > REPLICA_PATIENCE {
                return false;
            }
            tokio::time::sleep(REPLICA_INTERVAL).await;
        }
        true
    }

    async fn store_keys(&mut self, keys: KeySet) -> anyhow::Result<()> {
        self.store.store(&keys, self.latest.version, &self.entropy).await?;
        self.latest = VersionedKeys { version: self.latest.version + 1, keys };
        Ok(())
    }
}

fn now() -> i64 {
    SystemClock.now().timestamp()
}
