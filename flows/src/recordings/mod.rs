//! Replays the recordings of this repository against a binary.
//!
//! Each settings have a server, and each server a database.

mod cluster;
mod groups;
mod mutation;
mod network;
mod options;
mod pooler;
mod server;

use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use reqwest::Client;

pub use self::mutation::{ChangeVerdict, ChangedValue};
pub use self::options::{RecordingsOptions, repository_options};

use self::cluster::Cluster;
use self::groups::{Group, load_groups};
use self::mutation::find_changed;
use self::network::client;
use self::pooler::Pooler;
use self::server::{Server, ServerOptions, migrate};
use crate::FlowError;
use crate::format::Flow;
use crate::runner::{FlowOutcome, run_flow};
use crate::sources::Scope;
use crate::standins::{RecordedServices, StandIns, StartedStandIns, database};

/// The database that those of the servers are copies of.
const TEMPLATE: &str = "recordings_template";

/// What became of a recording.
#[derive(Debug, Clone)]
pub struct RecordingOutcome {
    /// The name of the flow.
    pub name: String,
    /// How many recorded steps its file has.
    pub recorded: usize,
    /// What became of its steps.
    pub outcome: FlowOutcome,
    /// The expected value that was changed.
    pub changed: Option<ChangedValue>,
}

/// The database server of a run.
struct Environment<'a> {
    options: &'a RecordingsOptions,
    cluster: Cluster,
    pooler: Option<Pooler>,
    bootstrap: String,
    client: Client,
    /// Roles and the template belong to the whole cluster: one database is prepared at a time.
    preparing: tokio::sync::Mutex<()>,
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
    let cluster = Cluster::start(&options.temporary, options.programs.as_deref(), &options.search)?;
    let pooler =
        if options.uses_pooler { Some(Pooler::start(&options.temporary, &cluster, &options.search)?) } else { None };
    let preparing = tokio::sync::Mutex::default();
    let environment = Environment { options, cluster, pooler, bootstrap, client: client()?, preparing };
    environment.prepare_template().await?;
    let outcomes = stream::iter(&groups)
        .map(|group| environment.run_group(group, report))
        .buffer_unordered(options.jobs.max(1))
        .concat()
        .await;
    Ok(outcomes)
}

impl Environment<'_> {
    /// Creates the database that those of the servers are copies of.
    async fn prepare_template(&self) -> Result<(), FlowError> {
        self.execute("postgres", &format!("create database \"{TEMPLATE}\"")).await?;
        self.execute(TEMPLATE, &self.bootstrap).await?;
        migrate(&self.options.server, &auth_database(self.cluster.port, TEMPLATE)).await
    }

    /// Replays the flows of a group on one server, one after the other.
    async fn run_group(&self, group: &Group, report: &(dyn Fn(&RecordingOutcome) + Sync)) -> Vec<RecordingOutcome> {
        let mut outcomes = Vec::new();
        match self.start(group).await {
            Ok((server, services)) => {
                for flow in &group.flows {
                    outcomes.push(self.run_flow(flow, group, &server, &services).await);
                    outcomes.last().into_iter().for_each(report);
                }
                server.stop().await;
                // The whole cluster is deleted at the end.
                let _ = self.execute("postgres", &format!("drop database \"{}\" with (force)", group.name)).await;
            }
            Err(error) => {
                let outcome = FlowOutcome { error: Some(error), ..FlowOutcome::default() };
                let named = |flow: &Flow| RecordingOutcome {
                    name: flow.name.clone(),
                    recorded: count_recorded(flow),
                    outcome: outcome.clone(),
                    changed: self.find_changed(flow),
                };
                outcomes.extend(group.flows.iter().map(named));
                outcomes.iter().for_each(report);
            }
        }
        outcomes
    }

    async fn start(&self, group: &Group) -> Result<(Server, StartedStandIns), FlowError> {
        {
            let _one = self.preparing.lock().await;
            self.execute("postgres", &format!("create database \"{}\" template \"{TEMPLATE}\"", group.name)).await?;
            self.execute(&group.name, &self.bootstrap).await?;
        }
        for statement in &group.settings.sql {
            self.execute(&group.name, statement).await?;
        }
        let certificates = self.options.certificates.clone();
        let services = RecordedServices { certificates }.start(&group.settings).await?;
        let port = self.pooler.as_ref().map_or(self.cluster.port, |pooler| pooler.port);
        let log = self.options.logs.join(format!("{}.log", group.name));
        let server = Server::start(ServerOptions {
            program: &self.options.server,
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
        flow: &Flow,
        group: &Group,
        server: &Server,
        services: &StartedStandIns,
    ) -> RecordingOutcome {
        let (target, settings) = (Arc::clone(&server.target), Arc::clone(&group.settings));
        let scope = Scope::new(&flow.name, target, settings, self.client.clone());
        for (name, value) in &services.names {
            if let Some(url) = value.as_str().filter(|url| url.starts_with("http://")) {
                scope.symbols().learn(url, name);
            }
        }
        let scope = Arc::new(scope.with_sources(vec![Arc::clone(&services.sources)]));
        let outcome = run_flow(flow, &scope, None).await;
        let (name, recorded) = (flow.name.clone(), count_recorded(flow));
        RecordingOutcome { name, recorded, outcome, changed: self.find_changed(flow) }
    }

    /// Returns the expected value of a flow that was changed.
    fn find_changed(&self, flow: &Flow) -> Option<ChangedValue> {
        let (_, seed) = self.options.mutation.as_ref()?;
        find_changed(flow, seed)
    }

    async fn execute(&self, database: &str, sql: &str) -> Result<String, FlowError> {
        database::query(&self.cluster.url(database), sql).await
    }
}

/// Returns the URL of a database for a server.
fn auth_database(port: u16, database: &str) -> String {
    format!("postgres://supabase_auth_admin:root@127.0.0.1:{port}/{database}")
}

/// The number of steps with a recording.
fn count_recorded(flow: &Flow) -> usize {
    use crate::format::Action;
    let is_recorded = |action: &Action| match action {
        Action::Request(request) => request.expect.is_some(),
        Action::Note { .. } => true,
        _ => false,
    };
    flow.steps.iter().filter(|step| is_recorded(&step.action)).count()
}
