//! Snapshots: named copies of a world's rows, settings and clock.

use std::sync::Arc;

use super::snapshot::{ListedSnapshot, Snapshot, SnapshotList};
use super::{World, Worlds, check_name, lock};
use crate::TestApiError;

/// The largest number of snapshots at a time.
const MAX_SNAPSHOTS: usize = 100;

impl Worlds {
    /// Stores the state of a world under a name; a snapshot of that name is replaced.
    pub(crate) async fn store_snapshot(&self, world: &World, name: &str) -> Result<(), TestApiError> {
        check_name(name)?;
        {
            let snapshots = lock(&self.0.snapshots);
            if snapshots.len() >= MAX_SNAPSHOTS && !snapshots.contains_key(name) {
                return Err(TestApiError::conflict(
                    format!("there are {MAX_SNAPSHOTS} snapshots"),
                    "delete snapshots that are not needed",
                ));
            }
        }
        let clock = world.clock.state();
        let (database, settings) = self.copy_of_world(world).await?;
        let snapshot = Snapshot { world: world.id.clone(), database, settings, clock };
        let before = lock(&self.0.snapshots).insert(name.to_owned(), Arc::new(snapshot));
        if let Some(before) = before {
            self.0.databases.discard(before.database.clone());
        }
        Ok(())
    }

    /// Returns a world to the state of a snapshot.
    pub(crate) async fn restore_snapshot(&self, world: &World, name: &str) -> Result<(), TestApiError> {
        self.check_replaceable(world)?;
        let snapshot = self.find_snapshot(name)?;
        let replacement = self.copy(&snapshot.database).await?;
        let mut state = self.enter_to_replace(world, &replacement).await?;
        world.clock.set_state(snapshot.clock);
        self.replace_content(world, &mut state, replacement, snapshot.settings.clone()).await
    }

    /// Returns the names of the snapshots of a world.
    pub(crate) fn list_snapshots(&self, world: &World) -> SnapshotList {
        let snapshots = lock(&self.0.snapshots);
        let of_world = snapshots.iter().filter(|(_, snapshot)| snapshot.world == world.id);
        SnapshotList { snapshots: of_world.map(|(name, _)| ListedSnapshot { name: name.clone() }).collect() }
    }

    /// Removes a snapshot. Worlds that were created from it can no longer be reset.
    pub(crate) fn delete_snapshot(&self, name: &str) -> Result<(), TestApiError> {
        self.find_snapshot(name)?;
        if let Some(snapshot) = lock(&self.0.snapshots).remove(name) {
            self.0.databases.discard(snapshot.database.clone());
        }
        Ok(())
    }

    pub(super) fn find_snapshot(&self, name: &str) -> Result<Arc<Snapshot>, TestApiError> {
        lock(&self.0.snapshots).get(name).cloned().ok_or_else(|| {
            TestApiError::not_found(
                format!("there is no snapshot {name:?}"),
                "POST …/worlds/{id}/snapshots/{name} stores one",
            )
        })
    }
}
