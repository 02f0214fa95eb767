//! The data API of a world: on its database, by its clock and with its faults.

use std::sync::Arc;
use std::time::Duration;

use gotrue_rs::config::Config;
use gotrue_rules::domain::database_url::with_database;
use postgrest_rs::service::dependencies::{Dependencies, Presence, StatementFailure, StatementFault, StatementFaults};
use test_bench::backend::BackendPlan;
use test_bench::faults::{FaultEffect, FaultRules, TargetFailure};

use super::WorldBackends;
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
            presence: Presence::OnDemand(CONNECTED_WITHOUT_USE),
        };
        let idle = CONNECTED_WITHOUT_USE.as_secs().to_string();
        let limits = [("db-pool", CONNECTIONS), ("db-pool-max-idletime", &idle)];
        RunningDataApi::with_limits(&project.file.basalt.data_api, url, config, dependencies, &limits).map(Some)
    }
}

/// The faults of a world, as its data API and its storage API ask for them.
#[derive(Debug)]
pub(super) struct WorldFaults(Arc<FaultRules>);

impl WorldFaults {
    pub(super) fn new(rules: &Arc<FaultRules>) -> Self {
        Self(Arc::clone(rules))
    }
}

impl StatementFaults for WorldFaults {
    fn fault_of(&self, writes: bool) -> Option<StatementFault> {
        let action = self.0.for_statement(writes)?;
        let failure = match action.effect {
            FaultEffect::Fail(TargetFailure::SerializationFailure) => Some(StatementFailure::Serialization),
            FaultEffect::Fail(TargetFailure::ReadOnly) => Some(StatementFailure::ReadOnly),
            FaultEffect::Fail(_) => Some(StatementFailure::LostConnection),
            _ => None,
        };
        Some(StatementFault { delay: action.delay, failure })
    }
}
