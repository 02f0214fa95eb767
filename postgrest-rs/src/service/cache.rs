//! The schema cache of an API: waiting for its first load, replacing it, and giving it up while no request needs it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

use crate::error::Error;
use crate::schema_cache::SchemaCache;

/// The longest that a request waits for the first load of the schema cache.
const FIRST_LOAD_WAIT: Duration = Duration::from_secs(10);

/// The schema cache, and why there is none.
#[derive(Debug, Clone)]
enum CacheState {
    /// It is loaded for the first time, or will be with the next request.
    Loading,
    /// The first load failed.
    Failed,
    /// It is there, and stays when a later load fails.
    Loaded(Arc<SchemaCache>),
}

/// The schema cache of an API.
#[derive(Debug)]
pub(super) struct LiveCache {
    state: watch::Sender<CacheState>,
    /// Whether a request has arrived that needs the cache.
    wanted: Notify,
    used_at: Mutex<Instant>,
}

impl Default for LiveCache {
    fn default() -> Self {
        Self {
            state: watch::Sender::new(CacheState::Loading),
            wanted: Notify::new(),
            used_at: Mutex::new(Instant::now()),
        }
    }
}

impl LiveCache {
    /// The schema cache, if there is one.
    pub(super) fn get(&self) -> Option<Arc<SchemaCache>> {
        match &*self.state.borrow() {
            CacheState::Loaded(cache) => Some(Arc::clone(cache)),
            CacheState::Loading | CacheState::Failed => None,
        }
    }

    /// The schema cache; requests that arrive while it is loaded for the first time wait for it. `on_demand`: whether a request
    /// causes another attempt after a failed one.
    pub(super) async fn wait(&self, on_demand: bool) -> Result<Arc<SchemaCache>, Error> {
        if on_demand {
            *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        if let Some(cache) = self.get() {
            return Ok(cache);
        }
        let mut states = self.state.subscribe();
        if on_demand {
            self.replace_if(|state| matches!(state, CacheState::Failed), CacheState::Loading);
            self.wanted.notify_one();
        }
        let is_decided = |state: &CacheState| !matches!(state, CacheState::Loading);
        // After the time limit there is no cache, as after a failure.
        let _ = tokio::time::timeout(FIRST_LOAD_WAIT, states.wait_for(is_decided)).await;
        self.get().ok_or_else(Error::no_schema_cache)
    }

    /// Puts a cache in the place of the present one.
    pub(super) fn replace(&self, cache: SchemaCache) {
        self.state.send_replace(CacheState::Loaded(Arc::new(cache)));
    }

    /// Lets requests fail that wait for the first load.
    pub(super) fn record_failure(&self) {
        self.replace_if(|state| matches!(state, CacheState::Loading), CacheState::Failed);
    }

    /// Gives the cache up; the next request waits for another one.
    pub(super) fn clear(&self) {
        self.replace_if(|state| matches!(state, CacheState::Loaded(_)), CacheState::Loading);
    }

    /// Waits until a request needs the cache; one that arrived longer ago than the limit counts no more.
    pub(super) async fn wait_until_wanted(&self, limit: Duration) {
        loop {
            self.wanted.notified().await;
            if self.used_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < limit {
                return;
            }
        }
    }

    /// Waits until no request has needed the cache for this long, or it was given up.
    pub(super) async fn wait_until_unused(&self, limit: Duration) {
        let mut states = self.state.subscribe();
        loop {
            let unused = self.used_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            let Some(left) = limit.checked_sub(unused).filter(|left| !left.is_zero()) else { return };
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                changed = states.wait_for(|state| !matches!(state, CacheState::Loaded(_))) => {
                    drop(changed);
                    return;
                }
            }
        }
    }

    fn replace_if(&self, is_replaced: impl Fn(&CacheState) -> bool, by: CacheState) {
        self.state.send_if_modified(|state| {
            let replaces = is_replaced(state);
            if replaces {
                *state = by;
            }
            replaces
        });
    }
}
