//! Upkeep of the worlds: which are removed, and which connections are closed.

use std::time::Duration;

use super::world::World;

/// The interval of checks.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);
/// The idle time after which a world's database connections are closed.
const CONNECTION_IDLE_TIME: Duration = Duration::from_secs(2);
/// The idle time after which a world is removed.
const WORLD_IDLE_TIME: Duration = Duration::from_hours(1);

/// Returns whether a world is removed.
pub(super) fn is_unused(world: &World) -> bool {
    world.idle_time() >= WORLD_IDLE_TIME
}

/// Closes the connections of a world that are not used.
pub(super) async fn close_idle_connections(world: &World) {
    if let Some(state) = world.try_enter()
        && let Some(app) = state.app()
    {
        app.pool.close_idle(CONNECTION_IDLE_TIME).await;
    }
}
