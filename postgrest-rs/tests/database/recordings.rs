//! Answers of PostgREST 14.17 to requests over `tests/recordings/schema.sql`, compared with those of the API.
//!
//! Scenarios that only read share a database; each of the others has one of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use futures::StreamExt;
use postgrest_rs::config::Sources;
use postgrest_rs::service::DataApi;
use serde_json::Value;

use crate::cluster::cluster;
use crate::comparison::{is_same, parse, print};
use crate::steps::{Kept, send};

const SCHEMA: &str = include_str!("../recordings/schema.sql");
const SCENARIOS: &str = include_str!("../recordings/scenarios.json");
const RECORDINGS: &str = include_str!("../recordings/recordings.json");

/// The number of scenarios that run at a time.
const CONCURRENCY: usize = 4;

/// The settings of a profile and of those that it extends.
fn settings(book: &Value, profile: &str) -> BTreeMap<String, String> {
    let profile = book["profiles"][profile].as_object().unwrap();
    let mut all = profile.get("extends").map(|parent| settings(book, parent.as_str().unwrap())).unwrap_or_default();
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

fn only_reads(scenario: &Value) -> bool {
    let reads = |step: &Value| matches!(step["method"].as_str(), Some("GET" | "HEAD" | "OPTIONS"));
    scenario["reads"] == true || scenario["steps"].as_array().unwrap().iter().all(reads)
}

/// An API with the settings of a profile over a new database.
async fn start(book: &Value, profile: &str) -> Arc<DataApi> {
    let database = cluster().create_database("harbour").await;
    let mut file = settings(book, profile);
    file.insert("db-uri".to_owned(), cluster().uri("authenticator", &database));
    file.insert("db-pool".to_owned(), "4".to_owned());
    let api = DataApi::new(Sources { file, ..Sources::default() }).unwrap();
    api.reload_config(None).await.unwrap();
    api.reload_schema().await.unwrap();
    api
}

/// Runs the steps of scenarios and describes what is not as recorded.
async fn compare(book: &Value, recordings: &Value, profile: &str, scenarios: Vec<&Value>) -> String {
    let api = start(book, profile).await;
    let mut differences = String::new();
    for scenario in scenarios {
        let name = scenario["name"].as_str().unwrap();
        let mut kept = Kept::new();
        for (index, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
            let mut recorded = recordings[name][index].clone();
            let unordered = recorded.as_object_mut().unwrap().remove("unordered").unwrap_or_default();
            let unordered: Vec<&str> = unordered.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let answered = send(&api, step, book, &mut kept).await;
            if !is_same(&recorded, &answered, &unordered, "") {
                let (recorded, answered) = (print(&recorded), print(&answered));
                let path = &step["path"];
                writeln!(differences, "{name}[{index}] {path}\n  recorded {recorded}\n  answered {answered}").unwrap();
            }
        }
    }
    differences
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_as_recorded() {
    let book = parse(SCENARIOS).unwrap();
    let recordings = parse(RECORDINGS).unwrap();
    let admin = cluster().connect("postgres").await;
    admin.batch_execute("CREATE DATABASE harbour TEMPLATE template0 ENCODING 'UTF8'").await.unwrap();
    let client = cluster().connect("harbour").await;
    client.batch_execute(SCHEMA).await.unwrap();
    drop(client);
    wait_until_unused(&admin).await;
    let mut groups: Vec<(&str, Vec<&Value>)> = Vec::new();
    for scenario in book["scenarios"].as_array().unwrap() {
        let profile = scenario["profile"].as_str().unwrap();
        let group = groups.iter_mut().find(|(name, group)| *name == profile && only_reads(group[0]));
        match group {
            Some((_, group)) if only_reads(scenario) => group.push(scenario),
            _ => groups.push((profile, vec![scenario])),
        }
    }
    let compared = groups.into_iter().map(|(profile, scenarios)| compare(&book, &recordings, profile, scenarios));
    let differences: Vec<String> = futures::stream::iter(compared).buffer_unordered(CONCURRENCY).collect().await;
    let differences = differences.concat();
    assert!(differences.is_empty(), "{differences}");
}

/// The table of features in `docs/compatibility.md` names each group of recordings, and files that exist.
#[test]
fn every_group_belongs_to_a_feature_of_the_documents() {
    const DOCUMENT: &str = include_str!("../../../docs/compatibility.md");
    let features = DOCUMENT.split("| feature | recordings | further tests |").nth(1).unwrap();
    let features = features.split("\n\n").next().unwrap();
    let named: BTreeSet<&str> = features.split('`').skip(1).step_by(2).collect();
    let book = parse(SCENARIOS).unwrap();
    let scenarios = book["scenarios"].as_array().unwrap().iter();
    let groups: BTreeSet<&str> =
        scenarios.map(|scenario| scenario["name"].as_str().unwrap().split('.').next().unwrap()).collect();
    let missing: Vec<_> = groups.difference(&named).collect();
    assert!(missing.is_empty(), "docs/compatibility.md does not name {missing:?}");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_source = |name: &&&str| Path::new(name).extension().is_some_and(|extension| extension == "rs");
    for file in named.iter().filter(is_source) {
        let folder = if file.contains('/') { "" } else { "postgrest-rs/tests/database" };
        assert!(repository.join(folder).join(file).exists(), "{file} does not exist");
    }
}

/// A database is a template only while nothing is connected to it.
async fn wait_until_unused(admin: &tokio_postgres::Client) {
    let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'harbour'";
    while admin.query_one(query, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
