//! Replays the recordings of the data API: requests over a schema, with the answers of PostgREST.
//!
//! Scenarios that only read share a server for each profile of settings; each of the others has a server and a database of its own.

mod comparison;
mod server;
mod steps;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use wildmatch::WildMatch;

use self::comparison::{is_same, parse, print};
use self::server::{DataServer, DataServerOptions};
use self::steps::{Kept, Peer, send};
use super::cluster::Cluster;
use super::options::{RecordingsOptions, ServerCommand};
use super::pooler::Pooler;
use super::programs::find_programs;
use super::running::run_groups;
use crate::FlowError;
use crate::standins::database;

/// What names of scenarios begin with.
const PREFIX: &str = "rest.";
/// The database that those of the servers are copies of.
const TEMPLATE: &str = "harbour";
/// The login role of the schema.
const LOGIN_ROLE: &str = "authenticator";

/// What became of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioOutcome {
    /// Its name, which begins with `rest.`.
    pub name: String,
    /// How many steps it has.
    pub recorded: usize,
    /// How many were answered as recorded.
    pub same: usize,
    /// What was answered otherwise, in words.
    pub differences: Vec<String>,
    /// Why it ended early.
    pub error: Option<FlowError>,
}

impl ScenarioOutcome {
    /// Returns whether every step was answered as recorded.
    pub fn is_success(&self) -> bool {
        self.error.is_none() && self.recorded > 0 && self.same == self.recorded
    }
}

/// The schema, the scenarios and what PostgREST answered.
#[derive(Debug)]
struct Book {
    schema: String,
    scenarios: Value,
    answers: Value,
}

impl Book {
    fn load(folder: &Path) -> Result<Self, FlowError> {
        let read = |name: &str| {
            let path = folder.join(name);
            let text = std::fs::read_to_string(&path);
            text.map_err(|error| FlowError::new(format!("{}: {error}", path.display()), "run it in the repository"))
        };
        let read_json = |name: &str| {
            let hint = "restore the file: it is part of the repository";
            parse(&read(name)?).ok_or_else(|| FlowError::new(format!("{name} is no JSON"), hint))
        };
        let (schema, scenarios) = (read("schema.sql")?, read_json("scenarios.json")?);
        Ok(Self { schema, scenarios, answers: read_json("recordings.json")? })
    }

    /// The scenarios whose names match, grouped by the server that they need.
    fn groups(&self, only: &[String]) -> Vec<ScenarioGroup> {
        let mut groups: Vec<ScenarioGroup> = Vec::new();
        let scenarios = self.scenarios["scenarios"].as_array().into_iter().flatten();
        for (index, scenario) in scenarios.enumerate() {
            let name = format!("{PREFIX}{}", scenario["name"].as_str().unwrap_or_default());
            if !only.is_empty() && !only.iter().any(|glob| WildMatch::new(glob).matches(&name)) {
                continue;
            }
            let (profile, reads) = (scenario["profile"].as_str().unwrap_or_default(), only_reads(scenario));
            match groups.iter_mut().find(|group| reads && group.reads && group.profile == profile) {
                Some(group) => group.scenarios.push(index),
                None => groups.push(ScenarioGroup { profile: profile.to_owned(), reads, scenarios: vec![index] }),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.scenarios.len()));
        groups
    }

    /// The settings of a profile and of those that it extends.
    fn settings(&self, profile: &str) -> BTreeMap<String, String> {
        let Some(profile) = self.scenarios["profiles"][profile].as_object() else { return BTreeMap::new() };
        let mut all =
            profile.get("extends").and_then(Value::as_str).map_or_else(BTreeMap::new, |base| self.settings(base));
        for (name, value) in profile.iter().filter(|(name, _)| *name != "extends") {
            let text = match value {
                Value::Null => {
                    all.remove(name);
                    continue;
                }
                Value::Array(values) => values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            all.insert(name.clone(), text);
        }
        all
    }
}

/// Scenarios that share a server, by their place in the file.
#[derive(Debug)]
struct ScenarioGroup {
    profile: String,
    reads: bool,
    scenarios: Vec<usize>,
}

fn only_reads(scenario: &Value) -> bool {
    let reads = |step: &Value| matches!(step["method"].as_str(), Some("GET" | "HEAD" | "OPTIONS"));
    scenario["reads"] == true || scenario["steps"].as_array().into_iter().flatten().all(reads)
}

/// The database server of a run.
struct DataEnvironment {
    options: RecordingsOptions,
    server: ServerCommand,
    book: Book,
    cluster: Cluster,
    pooler: Option<Pooler>,
}

/// Replays the recordings of the data API whose names match, and calls `report` for each; none without a server for them.
///
/// # Errors
/// The files cannot be read, or PostgreSQL does not start.
pub async fn replay_data_recordings(
    options: &RecordingsOptions,
    report: &(dyn Fn(&ScenarioOutcome) + Sync),
) -> Result<Vec<ScenarioOutcome>, FlowError> {
    let Some(server) = options.data_server.clone() else { return Ok(Vec::new()) };
    let book = Book::load(&options.data)?;
    let groups = book.groups(&options.only);
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |error: std::io::Error| FlowError::new(format!("the logs: {error}"), "check the folder for them");
    std::fs::create_dir_all(&options.logs).map_err(failed)?;
    let cluster = Cluster::start(&options.temporary, &find_programs(options)?)?;
    let pooler = if options.uses_pooler {
        Some(Pooler::start(&options.temporary, &cluster, &options.search, LOGIN_ROLE)?)
    } else {
        None
    };
    let environment = Arc::new(DataEnvironment { options: options.clone(), server, book, cluster, pooler });
    environment.prepare_template().await?;
    let run = |(number, group)| Arc::clone(&environment).run_group(number, group);
    run_groups(groups.into_iter().enumerate().map(run), options.jobs, report).await
}

impl DataEnvironment {
    /// Creates the database that those of the servers are copies of.
    async fn prepare_template(&self) -> Result<(), FlowError> {
        self.execute("postgres", &format!("create database {TEMPLATE} template template0 encoding 'UTF8'")).await?;
        self.execute(TEMPLATE, &self.book.schema).await
    }

    /// Replays the scenarios of a group on one server, one after the other.
    async fn run_group(self: Arc<Self>, number: usize, group: ScenarioGroup) -> Vec<ScenarioOutcome> {
        let database = format!("harbour_{number}");
        match self.start(&database, &group.profile).await {
            Ok(server) => {
                let mut outcomes = Vec::new();
                for index in &group.scenarios {
                    outcomes.push(self.run_scenario(*index, &server).await);
                }
                server.stop().await;
                // The whole cluster is deleted at the end.
                let _ = self.execute("postgres", &format!("drop database {database} with (force)")).await;
                outcomes
            }
            Err(error) => {
                let ended = |index: &usize| ScenarioOutcome { error: Some(error.clone()), ..self.outcome(*index) };
                group.scenarios.iter().map(ended).collect()
            }
        }
    }

    async fn start(&self, database: &str, profile: &str) -> Result<DataServer, FlowError> {
        // A copy of the files takes less time than a copy of the pages, which is the default.
        let create = format!("create database {database} template {TEMPLATE} strategy file_copy");
        self.execute("postgres", &create).await?;
        let port = self.pooler.as_ref().map_or(self.cluster.port, |pooler| pooler.port);
        let started = DataServer::start(DataServerOptions {
            command: &self.server,
            settings: self.book.settings(profile),
            database: format!("postgres://{LOGIN_ROLE}@127.0.0.1:{port}/{database}"),
            files: self.options.logs.join(format!("{database}.conf")),
            search: &self.options.search,
        });
        started.await
    }

    /// The outcome of a scenario before its first step.
    fn outcome(&self, index: usize) -> ScenarioOutcome {
        let scenario = &self.book.scenarios["scenarios"][index];
        let name = format!("{PREFIX}{}", scenario["name"].as_str().unwrap_or_default());
        let recorded = scenario["steps"].as_array().map_or(0, Vec::len);
        ScenarioOutcome { name, recorded, same: 0, differences: Vec::new(), error: None }
    }

    async fn run_scenario(&self, index: usize, server: &DataServer) -> ScenarioOutcome {
        let book = &self.book.scenarios;
        let mut outcome = self.outcome(index);
        let answers = &self.book.answers[&outcome.name[PREFIX.len()..]];
        let secret = book["secret"].as_str().unwrap_or_default();
        let peer = Peer { base: &server.base, secret, tokens: &book["tokens"] };
        let mut kept = Kept::new();
        for (number, step) in book["scenarios"][index]["steps"].as_array().into_iter().flatten().enumerate() {
            let answered = match send(peer, step, &mut kept).await {
                Ok(answered) => answered,
                Err(error) => {
                    outcome.error = Some(error.at(&format!("step {number}")));
                    break;
                }
            };
            let mut recorded = answers[number].clone();
            let unordered = recorded.as_object_mut().and_then(|answer| answer.remove("unordered")).unwrap_or_default();
            let unordered: Vec<&str> = unordered.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if is_same(&recorded, &answered, &unordered, "") {
                outcome.same += 1;
                continue;
            }
            let (method, path) = (step["method"].as_str().unwrap_or_default(), &step["path"]);
            let (recorded, answered) = (print(&recorded), print(&answered));
            let lines = format!("step {number} {method} {path}:\nrecorded {recorded}\nanswered {answered}");
            outcome.differences.push(lines);
        }
        outcome
    }

    async fn execute(&self, database: &str, sql: &str) -> Result<(), FlowError> {
        database::query(&self.cluster.url(database), sql).await.map(drop)
    }
}
