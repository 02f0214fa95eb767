//! A snapshot: a copy of a world's rows, settings and clock.

use platform::store::migrate::DatabaseName;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::{NewWorld, merge};
use crate::backend::WorldSettings;
use crate::clock::ClockState;

/// A copy of a world's state.
pub(crate) struct Snapshot {
    /// The id of the world.
    pub world: String,
    /// The database with the rows.
    pub database: DatabaseName,
    pub settings: WorldSettings,
    pub clock: ClockState,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct SnapshotList {
    pub snapshots: Vec<ListedSnapshot>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ListedSnapshot {
    pub name: String,
}

impl Snapshot {
    /// Returns the settings of a world that is created from it: those of the request take precedence.
    pub(crate) fn settings_for(&self, wanted: &NewWorld, requested: WorldSettings) -> WorldSettings {
        let mut settings = self.settings.clone();
        if requested.profile != settings.profile && (!wanted.env.is_empty() || !wanted.config.is_empty()) {
            return requested;
        }
        settings.env.extend(requested.env);
        merge(&mut settings.config, &requested.config);
        settings
    }
}
