//! The data API of a world: on its database, by its clock and with its faults.

use std::sync::Arc;
use std::time::Duration;

use foundation::database_url::with_database;
use gotrue_rs::config::Config;
use postgrest_rs::service::dependencies::{Dependencies, Presence};
use test_bench::backend::BackendPlan;

use super::WorldBackends;
use super::faults::WorldFaults;
use crate::project::Project;
use crate::serve::data_api::{RunningDataApi, find_database};

/// How long a world without requests keeps its connections: worlds come and go by hundreds.
const CONNECTED_WITHOUT_USE: Duration = Duration::from_secs(5);

/// The largest number of connections of the data API of one world.
const CONNECTIONS: &str = "4";

impl WorldBackends {
    /// Builds the data API of a world, unless its settings turn it off.
    pub(super) fn build_data_api(
        &self,
        plan: &BackendPlan,
        project: &Project,
        config: &Config,
    ) -> anyhow::Result<Option<RunningDataApi>> {
        let Some(url) = find_database(project, &self.source) else { return Ok(None) };
        let url = with_database(&url, plan.database.as_str());
        let clock = Arc::clone(&plan.clock);
        let dependencies = Dependencies {
            clock: Arc::new(move || clock.now().timestamp()),
            faults: Some(Arc::new(WorldFaults::new(&plan.faults))),
            explains: true,
            reloads_for_missing: true,
            presence: Presence::OnDemand(CONNECTED_WITHOUT_USE),
            request_limit: Some(project.file.basalt.data_api.request_timeout),
        };
        let idle = CONNECTED_WITHOUT_USE.as_secs().to_string();
        let limits = [("db-pool", CONNECTIONS), ("db-pool-max-idletime", &idle)];
        RunningDataApi::with_limits(&project.file.basalt.data_api, &url, config, dependencies, &limits).map(Some)
    }
}
