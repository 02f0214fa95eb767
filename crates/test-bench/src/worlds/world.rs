//! A world: an isolated backend with a URL, keys, a clock and a database of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::response::Response;
use gotrue_rs::app::App;
use http::StatusCode;
use platform::events::EventLog;
use platform::store::migrate::DatabaseName;
use serde::Serialize;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::TestApiError;
use crate::backend::{Backend, BackendPlan, DatabaseUrls, Profile, WorldKeys, WorldSettings};
use crate::clock::VirtualClock;
use crate::faults::{self, FaultRules};

/// The longest wait for the requests of a world before it is changed.
const QUIET_LIMIT: Duration = Duration::from_secs(10);
/// The path of the development pages.
const DEVELOPMENT_PAGES: &str = "/_dev/";

/// An isolated backend.
pub struct World {
    /// The part of its URL that identifies it.
    pub id: String,
    /// The name given by the test.
    pub(crate) name: Option<String>,
    /// The URL that clients take as the project's URL.
    pub(crate) url: String,
    pub(crate) keys: Arc<WorldKeys>,
    pub(crate) clock: VirtualClock,
    /// The rules by which its requests and what is behind them fail.
    pub(crate) faults: Arc<FaultRules>,
    /// What happened in it.
    pub(crate) events: EventLog,
    /// Its database; the name stays the same.
    pub(crate) database: DatabaseName,
    /// What it was created from.
    pub(crate) origin: Origin,
    /// The state that requests share and changes hold alone.
    state: Arc<RwLock<WorldState>>,
    used_at: Mutex<Instant>,
}

/// What a world is created from, and reset to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// The name of a snapshot; without one, empty schemas.
    pub snapshot: Option<String>,
    /// The data that is created then.
    pub seed: Option<crate::worlds::seed::Seed>,
    /// The settings at the creation.
    pub settings: WorldSettings,
}

/// The part of a world that changes replace.
pub(crate) struct WorldState {
    /// `None` after the world was deleted, or when a change failed halfway.
    pub backend: Option<Backend>,
    pub settings: WorldSettings,
}

/// A world for the client: addresses and keys.
#[derive(Serialize, ToSchema)]
#[schema(as = World)]
pub(crate) struct WorldDescription<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<&'a str>,
    /// The URL that clients take as the project's URL.
    url: &'a str,
    profile: Profile,
    #[serde(flatten)]
    keys: &'a WorldKeys,
    #[serde(flatten)]
    database: DatabaseUrls,
    /// The key under which clients store their session.
    storage_key: String,
}

/// What identifies a new world.
pub(crate) struct WorldIdentity {
    /// The part of its URL.
    pub id: String,
    /// The name given by the test.
    pub name: Option<String>,
    pub url: String,
    pub keys: Arc<WorldKeys>,
    pub database: DatabaseName,
    /// The rules of its faults.
    pub faults: Arc<FaultRules>,
    pub events: EventLog,
}

impl World {
    /// Creates a world around a running backend.
    pub(crate) fn new(identity: WorldIdentity, clock: VirtualClock, origin: Origin, backend: Backend) -> Self {
        let WorldIdentity { id, name, url, keys, database, faults, events } = identity;
        let state = WorldState { backend: Some(backend), settings: origin.settings.clone() };
        let state = Arc::new(RwLock::new(state));
        let used_at = Mutex::new(Instant::now());
        Self { id, name, url, keys, clock, faults, events, database, origin, state, used_at }
    }

    /// Answers a request; its path is the one below the world's URL.
    pub(crate) async fn answer(&self, request: Request) -> Result<Response, TestApiError> {
        self.touch();
        let state = self.enter().await?;
        let Some(Backend { app, handler, .. }) = &state.backend else { return Err(self.gone()) };
        let (app, handler) = (Arc::clone(app), Arc::clone(handler));
        // A reader that waits for messages does not keep the world from being changed.
        let state = Some(state).filter(|_| !request.uri().path().starts_with(DEVELOPMENT_PAGES));
        let response = faults::serve(&self.faults, &app, request, |request| handler(request)).await;
        drop(state);
        self.touch();
        Ok(response)
    }

    /// Returns the state for as long as it must not change.
    pub(crate) async fn enter(&self) -> Result<OwnedRwLockReadGuard<WorldState>, TestApiError> {
        let state = Arc::clone(&self.state).read_owned().await;
        if state.backend.is_some() { Ok(state) } else { Err(self.gone()) }
    }

    /// Returns the state if nothing waits for it, for upkeep.
    pub(crate) fn try_enter(&self) -> Option<OwnedRwLockReadGuard<WorldState>> {
        Arc::clone(&self.state).try_read_owned().ok()
    }

    /// Waits until no request is being answered, and returns the state for a change.
    pub(crate) async fn enter_alone(&self) -> Result<OwnedRwLockWriteGuard<WorldState>, TestApiError> {
        self.touch();
        if let Ok(state) = timeout(QUIET_LIMIT, Arc::clone(&self.state).write_owned()).await {
            return Ok(state);
        }
        Err(TestApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "world_busy",
            format!("the world {} still answers requests after {} seconds", self.id, QUIET_LIMIT.as_secs()),
            "wait for the answers of its requests before changing the world",
        ))
    }

    /// Returns what a backend of this world is built from.
    pub(crate) fn plan(&self, settings: WorldSettings) -> BackendPlan {
        BackendPlan {
            url: self.url.clone(),
            keys: Arc::clone(&self.keys),
            settings,
            database: self.database.clone(),
            clock: Arc::new(self.clock.clone()),
            faults: Arc::clone(&self.faults),
            events: self.events.clone(),
        }
    }

    /// Returns its description for clients.
    pub(crate) fn describe(&self, profile: Profile, database: DatabaseUrls) -> WorldDescription<'_> {
        let (name, storage_key) = (self.name.as_deref(), self.storage_key());
        WorldDescription { id: &self.id, name, url: &self.url, profile, keys: &self.keys, database, storage_key }
    }

    /// Returns the key under which clients of this world store their session.
    ///
    /// The client derives it from the host, which all worlds share: tests pass this one.
    pub(crate) fn storage_key(&self) -> String {
        format!("sb-{}-auth-token", self.id)
    }

    /// Returns how long it was not used.
    pub(crate) fn idle_time(&self) -> Duration {
        self.used_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Records a use.
    pub(crate) fn touch(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the application of the running backend.
    pub(crate) fn app<'s>(&self, state: &'s WorldState) -> Result<&'s Arc<App>, TestApiError> {
        state.app().ok_or_else(|| self.gone())
    }

    /// Returns the error of a world without a backend.
    pub(crate) fn gone(&self) -> TestApiError {
        TestApiError::not_found(
            format!("the world {} is gone", self.id),
            "create another one; worlds end when they are deleted, and an hour after their last use",
        )
    }
}

impl WorldState {
    /// Returns the application of the running backend.
    pub(crate) fn app(&self) -> Option<&Arc<App>> {
        self.backend.as_ref().map(|backend| &backend.app)
    }

    /// Puts a backend in the place of the present one.
    ///
    /// The present one ends, and with it the requests that wait for its messages.
    pub(crate) async fn replace_backend(&mut self, backend: Backend) {
        if let Some(before) = self.backend.replace(backend) {
            before.close().await;
        }
    }
}
