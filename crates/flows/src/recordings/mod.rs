//! Replays the recordings of this repository against a binary.
//!
//! Each settings have a server, and each server a database.

mod cluster;
mod data;
mod groups;
mod list;
mod mutation;
mod network;
mod options;
mod outcome;
mod pooler;
mod programs;
mod running;
mod server;
mod server_process;
mod update;

use std::sync::Arc;

use reqwest::Client;

pub use self::data::{ScenarioOutcome, replay_data_recordings};
pub use self::mutation::{ChangeVerdict, ChangedValue};
pub use self::options::{RecordingsOptions, ServerCommand, repository_options};
pub use self::outcome::RecordingOutcome;
pub use self::update::update_recordings;

use self::cluster::Cluster;
use self::groups::{Group, load_flows, load_groups};
use self::mutation::find_changed;
use self::network::client;
use self::pooler::Pooler;
use self::programs::find_programs;
use self::running::run_groups;
use self::server::{Server, ServerOptions, migrate};
use crate::FlowError;
use crate::permissions::Permissions;
use crate::replay::FlowFile;
use crate::runner::{FlowOutcome, run_flow};
use crate::sources::Scope;
use crate::standins::{RecordedServices, StandIns, StartedStandIns, database};

/// The database that those of the servers are copies of.
const TEMPLATE: &str = "recordings_template";
/// The login role of the auth servers.
const LOGIN_ROLE: &str = "supabase_auth_admin";

/// The database server of a run.
struct Environment {
    options: RecordingsOptions,
    cluster: Cluster,
    pooler: Option<Pooler>,
    bootstrap: String,
    client: Client,
}

/// Reads the recordings whose names match and returns their number.
///
/// # Errors
/// A file is invalid, a flow compares nothing, or one is not as the list says.
pub fn check_recordings(options: &RecordingsOptions) -> Result<usize, FlowError> {
    load_flows(options).map(|files| files.len())
}

/// Replays recordings and calls `report` for each.
///
/// # Errors
/// The files cannot be read, or PostgreSQL does not start.
pub async fn replay_recordings(
    options: &RecordingsOptions,
    report: &(dyn Fn(&RecordingOutcome) + Sync),
) -> Result<Vec<RecordingOutcome>, FlowError> {
    let groups = load_groups(options)?;
    let failed = |error: std::io::Error| {
        FlowError::new(format!("{}: {error}", options.bootstrap.display()), "run it in the repository")
    };
    let bootstrap = std::fs::read_to_string(&options.bootstrap).map_err(failed)?;
    std::fs::create_dir_all(&options.logs).map_err(failed)?;
    let cluster = Cluster::start(&options.temporary, &find_programs(options)?)?;
    let pooler = if options.uses_pooler {
        Some(Pooler::start(&options.temporary, &cluster, &options.search, LOGIN_ROLE)?)
    } else {
        None
    };
    let environment = Arc::new(Environment { options: options.clone(), cluster, pooler, bootstrap, client: client()? });
    environment.prepare_template().await?;
    let runs = groups.into_iter().map(|group| Arc::clone(&environment).run_group(group));
    run_groups(runs, options.jobs, report).await
}

impl Environment {
    /// Creates the database that those of the servers are copies of.
    async fn prepare_template(&self) -> Result<(), FlowError> {
        self.execute("postgres", &format!("create database \"{TEMPLATE}\"")).await?;
        self.execute(TEMPLATE, &self.bootstrap).await?;
        migrate(&self.options.server, &auth_database(self.cluster.port, TEMPLATE)).await
    }

    /// Replays the flows of a group on one server, one after the other.
    async fn run_group(self: Arc<Self>, group: Group) -> Vec<RecordingOutcome> {
        let mut outcomes = Vec::new();
        match self.start(&group).await {
            Ok((server, services)) => {
                for file in &group.flows {
                    outcomes.push(self.run_flow(file, &group, &server, &services).await);
                }
                server.stop().await;
                // The whole cluster is deleted at the end.
                let _ = self.execute("postgres", &format!("drop database \"{}\" with (force)", group.name)).await;
            }
            Err(error) => {
                let outcome = FlowOutcome { error: Some(error), ..FlowOutcome::default() };
                let ended = |file: &FlowFile| self.judge(file, outcome.clone());
                outcomes.extend(group.flows.iter().map(ended));
            }
        }
        outcomes
    }

    async fn start(&self, group: &Group) -> Result<(Server, StartedStandIns), FlowError> {
        // A copy of the files takes two thirds of the time of a copy of the pages, which is the default.
        let create = format!("create database \"{}\" template \"{TEMPLATE}\" strategy file_copy", group.name);
        self.execute("postgres", &create).await?;
        let grant = format!("grant create on database \"{}\" to {LOGIN_ROLE}", group.name);
        self.execute("postgres", &grant).await?;
        for statement in &group.settings.sql {
            self.execute(&group.name, statement).await?;
        }
        let certificates = self.options.certificates.clone();
        let services = RecordedServices { certificates }.start(&group.settings).await?;
        let port = self.pooler.as_ref().map_or(self.cluster.port, |pooler| pooler.port);
        let log = self.options.logs.join(format!("{}.log", group.name));
        let server = Server::start(ServerOptions {
            command: &self.options.server,
            settings: &group.settings,
            names: &services.names,
            database: self.cluster.url(&group.name),
            auth_database: auth_database(port, &group.name),
            log: &log,
            search: &self.options.search,
        });
        Ok((server.await?, services))
    }

    async fn run_flow(
        &self,
        file: &FlowFile,
        group: &Group,
        server: &Server,
        services: &StartedStandIns,
    ) -> RecordingOutcome {
        let (target, settings) = (Arc::clone(&server.target), Arc::clone(&group.settings));
        let scope =
            Scope::new(&file.flow.name, target, settings, self.client.clone()).with_permissions(Permissions::ALL);
        scope.symbols().remember_times();
        for (name, value) in &services.names {
            if let Some(url) = value.as_str().filter(|url| url.starts_with("http://")) {
                scope.symbols().learn(url, name);
            }
        }
        let scope = Arc::new(scope.with_sources(vec![Arc::clone(&services.sources)]));
        self.judge(file, run_flow(&file.flow, &scope, None).await)
    }

    /// Joins a file with what became of its flow.
    fn judge(&self, file: &FlowFile, outcome: FlowOutcome) -> RecordingOutcome {
        let changed = self.options.mutation.as_ref().and_then(|(_, seed)| find_changed(&file.flow, seed));
        RecordingOutcome::new(file, outcome, changed)
    }

    async fn execute(&self, database: &str, sql: &str) -> Result<String, FlowError> {
        database::query(&self.cluster.url(database), sql).await
    }
}

/// Returns the URL of a database for a server.
fn auth_database(port: u16, database: &str) -> String {
    format!("postgres://{LOGIN_ROLE}:root@127.0.0.1:{port}/{database}")
}
