//! The worlds of a test server: creating, copying, resetting and removing them.

mod databases;
mod request;
mod seed;
mod snapshot;
mod snapshots;
mod upkeep;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use http::StatusCode;
use platform::entropy::Entropy;
use platform::events::EventLog;
use platform::store::migrate::{DatabaseName, MigrateError};
use serde_json::{Map, Value};
use tokio::sync::OwnedRwLockWriteGuard;

pub use databases::{DatabaseObserver, WorldDatabases};
pub use world::World;

pub(crate) use request::{NewFork, NewWorld, check_name, parse};
pub(crate) use snapshot::{Snapshot, SnapshotList};
pub(crate) use world::{WorldDescription, WorldState};

use crate::TestApiError;
use crate::backend::{Backend, BackendBuilder, BackendPlan, WorldKeys, WorldSettings};
use crate::clock::VirtualClock;
use crate::faults::FaultRules;
use request::merge_settings;
use seed::Seed;
use upkeep::{INTERVAL, close_idle_connections, is_unused};
use world::{Origin, WorldIdentity};

/// The id of the world that the server itself is.
pub const DEFAULT_WORLD: &str = "default";
/// The path that worlds are below, at the server's URL.
pub const WORLD_PATH: &str = "/w/";
/// The same in every world, so that a test with probabilities can be repeated.
pub const FAULT_SEED: u64 = 1;
/// The largest number of worlds at a time.
const MAX_WORLDS: usize = 1000;

/// All worlds of a server; clones share them.
#[derive(Clone)]
pub struct Worlds(Arc<Inner>);

struct Inner {
    builder: Arc<dyn BackendBuilder>,
    databases: WorldDatabases,
    entropy: Entropy,
    /// The server's own URL.
    url: String,
    worlds: Mutex<BTreeMap<String, Arc<World>>>,
    snapshots: Mutex<BTreeMap<String, Arc<Snapshot>>>,
}

/// What a world to be added consists of.
struct Addition {
    name: Option<String>,
    keys: Arc<WorldKeys>,
    clock: VirtualClock,
    origin: Origin,
    database: DatabaseName,
    /// Whether the database has the data of the origin already.
    is_copy: bool,
}

impl Worlds {
    /// Creates the worlds of a server at `url`, among them the one that the server itself is.
    ///
    /// # Errors
    /// The default world cannot be built.
    pub fn start(
        builder: Arc<dyn BackendBuilder>,
        databases: WorldDatabases,
        entropy: Entropy,
        default: BackendPlan,
    ) -> Result<Self, TestApiError> {
        let clock = VirtualClock::default();
        let BackendPlan { url, keys, settings, database, faults, events, .. } = default.clone();
        let backend = builder.build(&BackendPlan { clock: Arc::new(clock.clone()), ..default })?;
        let identity = WorldIdentity {
            id: DEFAULT_WORLD.to_owned(),
            name: None,
            url: url.clone(),
            keys,
            database,
            faults,
            events,
        };
        let origin = Origin { settings, ..Origin::default() };
        let world = Arc::new(World::new(identity, clock, origin, backend));
        let worlds = Mutex::new(BTreeMap::from([(world.id.clone(), world)]));
        let inner = Inner { builder, databases, entropy, url, worlds, snapshots: Mutex::default() };
        let worlds = Self(Arc::new(inner));
        http_edge::spawn_task(worlds.0.databases.clone().maintain());
        http_edge::spawn_task(maintain(Arc::downgrade(&worlds.0)));
        Ok(worlds)
    }

    /// Returns a world.
    ///
    /// # Errors
    /// There is none of this id.
    pub fn find(&self, id: &str) -> Result<Arc<World>, TestApiError> {
        lock(&self.0.worlds).get(id).cloned().ok_or_else(|| {
            TestApiError::not_found(
                format!("there is no world {id:?}"),
                "GET …/worlds lists them; worlds end when they are deleted, and an hour after their last use",
            )
        })
    }

    /// Returns all worlds.
    pub(crate) fn list(&self) -> Vec<Arc<World>> {
        lock(&self.0.worlds).values().cloned().collect()
    }

    pub(crate) async fn create(&self, wanted: NewWorld) -> Result<Arc<World>, TestApiError> {
        let created = self.build_world(wanted).await;
        self.0.databases.refill();
        created
    }

    async fn build_world(&self, wanted: NewWorld) -> Result<Arc<World>, TestApiError> {
        self.check_number()?;
        let mut settings = wanted.settings()?;
        let (clock, database) = match &wanted.from {
            None => (VirtualClock::default(), self.0.databases.take().await.map_err(|error| database_error(&error))?),
            Some(name) => {
                let snapshot = self.find_snapshot(name)?;
                settings = snapshot.settings_for(&wanted, settings);
                (VirtualClock::from_state(snapshot.clock), self.copy(&snapshot.database).await?)
            }
        };
        let keys = match self.0.builder.generate_keys() {
            Ok(keys) => Arc::new(keys),
            Err(error) => return Err(self.abandon(database, error)),
        };
        let origin = Origin { snapshot: wanted.from, seed: wanted.seed, settings };
        self.add(Addition { name: wanted.name, keys, clock, origin, database, is_copy: false }).await
    }

    /// Creates a copy of a world with its complete state: rows, keys, settings and clock.
    pub(crate) async fn fork(&self, source: &World, wanted: NewFork) -> Result<Arc<World>, TestApiError> {
        self.check_number()?;
        if let Some(name) = &wanted.name {
            check_name(name)?;
        }
        let (database, settings) = self.copy_of_world(source).await?;
        let clock = VirtualClock::from_state(source.clock.state());
        let (keys, origin) = (Arc::clone(&source.keys), Origin { settings, ..source.origin.clone() });
        self.add(Addition { name: wanted.name, keys, clock, origin, database, is_copy: true }).await
    }

    /// Builds a world on a database and adds it; after a failure the database is dropped.
    async fn add(&self, addition: Addition) -> Result<Arc<World>, TestApiError> {
        let Addition { name, keys, clock, origin, database, is_copy } = addition;
        let id = self.0.entropy.base32(10).to_ascii_lowercase();
        let url = format!("{}{WORLD_PATH}{id}", self.0.url);
        let (faults, events) = (Arc::new(FaultRules::new(FAULT_SEED)), EventLog::default());
        let plan = BackendPlan {
            url: url.clone(),
            keys: Arc::clone(&keys),
            settings: origin.settings.clone(),
            database: database.clone(),
            clock: Arc::new(clock.clone()),
            faults: Arc::clone(&faults),
            events: events.clone(),
        };
        let seed = origin.seed.as_ref().filter(|_| !is_copy);
        let backend = match self.build_with_seed(plan, seed).await {
            Ok(backend) => backend,
            Err(error) => return Err(self.abandon(database, error)),
        };
        let world = Arc::new(World::new(
            WorldIdentity { id, name, url, keys, database, faults, events },
            clock,
            origin,
            backend,
        ));
        lock(&self.0.worlds).insert(world.id.clone(), Arc::clone(&world));
        Ok(world)
    }

    /// Returns a world to the state after its creation.
    pub(crate) async fn reset(&self, world: &World) -> Result<(), TestApiError> {
        let origin = &world.origin;
        self.check_replaceable(world)?;
        let snapshot = origin.snapshot.as_deref().map(|name| self.find_snapshot(name)).transpose()?;
        let replacement = match &snapshot {
            None => self.0.databases.take().await.map_err(|error| database_error(&error))?,
            Some(snapshot) => self.copy(&snapshot.database).await?,
        };
        let mut state = self.enter_to_replace(world, &replacement).await?;
        match &snapshot {
            None => world.clock.reset(),
            Some(snapshot) => world.clock.set_state(snapshot.clock),
        }
        world.faults.clear(None)?;
        self.replace_content(world, &mut state, replacement, origin.settings.clone()).await?;
        let Some(app) = state.app() else { return Ok(()) };
        match &origin.seed {
            Some(seed) => seed.apply(app).await,
            None => Ok(()),
        }
    }

    /// Changes the settings of a world, which keeps its rows; `change` is a JSON merge patch (RFC 7396).
    pub(crate) async fn change_settings(&self, world: &World, change: &Map<String, Value>) -> Result<(), TestApiError> {
        let mut state = self.enter_listed(world).await?;
        let mut settings = state.settings.clone();
        merge_settings(&mut settings, change)?;
        // Built first: invalid settings leave the world as it is.
        let built = self.0.builder.build(&world.plan(settings.clone()))?;
        state.replace_backend(built).await;
        state.settings = settings;
        Ok(())
    }

    /// Removes a world and everything in it.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), TestApiError> {
        if id == DEFAULT_WORLD {
            return Err(TestApiError::conflict(
                "the default world is the server itself",
                "reset it, or end the server",
            ));
        }
        let world = self.find(id)?;
        let mut state = world.enter_alone().await?;
        lock(&self.0.worlds).remove(id);
        if let Some(backend) = state.backend.take() {
            backend.close().await;
        }
        self.0.databases.discard(world.database.clone());
        Ok(())
    }

    /// Returns the builder of backends.
    pub(crate) fn builder(&self) -> &dyn BackendBuilder {
        self.0.builder.as_ref()
    }

    /// Ends all backends and the upkeep of their databases, at the end of the server.
    pub async fn close(&self) {
        let worlds = std::mem::take(&mut *lock(&self.0.worlds));
        for world in worlds.values() {
            if let Ok(mut state) = world.enter_alone().await
                && let Some(backend) = state.backend.take()
            {
                backend.close().await;
            }
        }
        let snapshots = std::mem::take(&mut *lock(&self.0.snapshots));
        let of_worlds = worlds.into_values().filter(|world| world.id != DEFAULT_WORLD);
        let created = of_worlds.map(|world| world.database.clone());
        self.0.databases.close(created.chain(snapshots.into_values().map(|snapshot| snapshot.database.clone()))).await;
    }

    /// Waits until a world can be changed; if it cannot, the database for it is dropped.
    async fn enter_to_replace(
        &self,
        world: &World,
        replacement: &DatabaseName,
    ) -> Result<OwnedRwLockWriteGuard<WorldState>, TestApiError> {
        self.enter_listed(world).await.map_err(|error| self.abandon(replacement.clone(), error))
    }

    /// Waits until a world can be changed that was not deleted meanwhile.
    async fn enter_listed(&self, world: &World) -> Result<OwnedRwLockWriteGuard<WorldState>, TestApiError> {
        let state = world.enter_alone().await?;
        let is_listed = lock(&self.0.worlds).contains_key(&world.id);
        if is_listed { Ok(state) } else { Err(world.gone()) }
    }

    /// Ends the backend of a world, replaces its database, and builds a backend on the new one.
    async fn replace_content(
        &self,
        world: &World,
        state: &mut WorldState,
        replacement: DatabaseName,
        settings: WorldSettings,
    ) -> Result<(), TestApiError> {
        if let Some(backend) = state.backend.take() {
            backend.close().await;
        }
        let replaced = self.0.databases.replace(&world.database, &replacement).await;
        if replaced.is_ok() {
            state.settings = settings;
        } else {
            self.0.databases.discard(replacement);
        }
        let backend = self.0.builder.build(&world.plan(state.settings.clone()))?;
        state.replace_backend(backend).await;
        replaced.map_err(|error| database_error(&error))
    }

    async fn build_with_seed(&self, plan: BackendPlan, seed: Option<&Seed>) -> Result<Backend, TestApiError> {
        let backend = self.0.builder.build(&plan)?;
        if let Some(seed) = seed
            && let Err(error) = seed.apply(&backend.app).await
        {
            backend.close().await;
            return Err(error);
        }
        Ok(backend)
    }

    /// Returns a copy of a world's database and its settings. Requests of the world wait meanwhile.
    async fn copy_of_world(&self, world: &World) -> Result<(DatabaseName, WorldSettings), TestApiError> {
        let state = world.enter_alone().await?;
        let paused = match state.app() {
            Some(app) => Some(app.pool.pause().await),
            None => None,
        };
        if let Some(Err(error)) = &paused {
            return Err(TestApiError::internal("waiting for the statements of a world", error));
        }
        let others = match state.backend.as_ref().and_then(|backend| backend.pause.as_ref()) {
            Some(pause) => Some(pause().await),
            None => None,
        };
        let copy = self.copy(&world.database).await;
        drop((paused, others));
        Ok((copy?, state.settings.clone()))
    }

    async fn copy(&self, database: &DatabaseName) -> Result<DatabaseName, TestApiError> {
        self.0.databases.copy_of(database).await.map_err(|error| database_error(&error))
    }

    /// Drops a database that is not used after all, and returns the reason.
    fn abandon(&self, database: DatabaseName, error: TestApiError) -> TestApiError {
        self.0.databases.discard(database);
        error
    }

    /// Refuses to replace the content of a database that an operator named.
    fn check_replaceable(&self, world: &World) -> Result<(), TestApiError> {
        if world.id == DEFAULT_WORLD && self.0.databases.is_cluster_kept() {
            return Err(TestApiError::conflict(
                "the default world uses the database of --database-url, whose content is not replaced",
                "create a world: it gets a database of its own",
            ));
        }
        Ok(())
    }

    fn check_number(&self) -> Result<(), TestApiError> {
        if lock(&self.0.worlds).len() < MAX_WORLDS {
            return Ok(());
        }
        Err(TestApiError::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_worlds",
            format!("there are {MAX_WORLDS} worlds"),
            "delete worlds at the end of each test",
        ))
    }
}

/// Closes unused connections and removes unused worlds for as long as the worlds exist.
async fn maintain(worlds: Weak<Inner>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(inner) = Weak::upgrade(&worlds) else { return };
        let worlds = Worlds(inner);
        for world in worlds.list() {
            if is_unused(&world) && world.id != DEFAULT_WORLD {
                tracing::info!(world = world.id, "removing a world that was not used for an hour");
                drop(worlds.delete(&world.id).await);
                continue;
            }
            close_idle_connections(&world).await;
        }
    }
}

fn database_error(error: &MigrateError) -> TestApiError {
    TestApiError::internal("changing the databases of the worlds", error)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
