//! Upkeep of the worlds: closes connections that are not used, and removes unused worlds.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::{DEFAULT_WORLD, Inner, Worlds};

/// The interval of checks.
const INTERVAL: Duration = Duration::from_secs(1);
/// The idle time after which a world's database connections are closed.
const CONNECTION_IDLE_TIME: Duration = Duration::from_secs(2);
/// The idle time after which a world is removed.
const WORLD_IDLE_TIME: Duration = Duration::from_hours(1);

/// Runs for as long as the worlds exist.
pub(super) async fn run(worlds: Weak<Inner>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(inner) = Weak::upgrade(&worlds) else { return };
        let worlds = Worlds(Arc::clone(&inner));
        for world in worlds.list() {
            if world.idle_time() >= WORLD_IDLE_TIME && world.id != DEFAULT_WORLD {
                tracing::info!(world = world.id, "removing a world that was not used for an hour");
                drop(worlds.delete(&world.id).await);
                continue;
            }
            if let Some(state) = world.try_enter()
                && let Some(app) = state.app()
            {
                app.pool.close_idle(CONNECTION_IDLE_TIME).await;
            }
        }
    }
}
