//! The SQL that makes the database of the migrations equal to another database.
//!
//! Both are read from the catalogue. The statements are run on the scratch database of the migrations, which is read again
//! afterwards: what remains, such as rights that differ from the default ones, is added.

mod snapshot;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use sqlx::AssertSqlSafe;

use crate::database;
use snapshot::{SchemaObject, Snapshot};

/// How often the scratch database is compared.
const PASSES: usize = 3;
/// Kinds that others use: they are dropped after those were changed.
const DROPPED_LAST: [&str; 7] = ["table", "sequence", "enum", "domain", "composite type", "extension", "schema"];
/// Statements of the first lines: functions may be created before the tables of their bodies.
const PREAMBLE: &str = "SET check_function_bodies = false";

/// Lists the tables of a project, each with its schema, without those of the services and of extensions.
///
/// # Errors
/// The database cannot be reached or read.
pub(crate) async fn list_tables(url: &str) -> anyhow::Result<Vec<String>> {
    let objects = Snapshot::read(url).await?.objects.into_keys();
    Ok(objects.filter(|(kind, _)| kind == "table").map(|(_, name)| name).collect())
}

/// The difference between the database of the migrations and another one.
#[derive(Debug, Default)]
pub(crate) struct DatabaseDifference {
    /// The statements, without semicolons.
    pub statements: Vec<String>,
    /// Statements that failed on the scratch database, each with the reason.
    pub failed: Vec<(String, String)>,
    /// Whether the scratch database still differs after them.
    pub is_incomplete: bool,
}

impl DatabaseDifference {
    /// Formats a script; empty if there is no difference.
    pub(crate) fn to_script(&self) -> String {
        if self.statements.is_empty() {
            return String::new();
        }
        let mut script = format!("{PREAMBLE};\n");
        for statement in &self.statements {
            script.push('\n');
            script.push_str(statement);
            // A comment is no statement.
            script.push_str(if statement.starts_with("--") { "\n" } else { ";\n" });
        }
        script
    }
}

/// Returns what changes the scratch database to the other one, to which it is changed.
///
/// # Errors
/// A database cannot be reached or read.
pub(crate) async fn compare_databases(scratch_url: &str, url: &str) -> anyhow::Result<DatabaseDifference> {
    let wanted = Snapshot::read(url).await?;
    let mut difference = DatabaseDifference::default();
    for _ in 0..PASSES {
        let statements = list_changes(&Snapshot::read(scratch_url).await?, &wanted);
        let new: Vec<String> =
            statements.into_iter().filter(|statement| !difference.statements.contains(statement)).collect();
        if new.is_empty() {
            break;
        }
        difference.failed.extend(run_statements(scratch_url, &new).await?);
        difference.statements.extend(new);
    }
    let rest = list_changes(&Snapshot::read(scratch_url).await?, &wanted);
    difference.is_incomplete = rest.iter().any(|statement| !statement.starts_with("--"));
    Ok(difference)
}

/// Runs each statement by itself; returns those that failed.
async fn run_statements(url: &str, statements: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&settings).await?;
    let mut connection =
        platform::store::acquire_connection(&pool).await.context("connecting to the scratch database")?;
    let mut failed = Vec::new();
    for statement in [PREAMBLE].into_iter().chain(statements.iter().map(String::as_str)) {
        match sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut *connection).await {
            Ok(_) => {}
            Err(error) if error.as_database_error().is_some() => failed.push((statement.to_owned(), error.to_string())),
            Err(error) => return Err(error).context("changing the scratch database"),
        }
    }
    drop(connection.close().await);
    pool.close().await;
    Ok(failed)
}

type Key = (String, String);

/// Lists the statements that change a database to another one, in an order in which they can run.
fn list_changes(from: &Snapshot, to: &Snapshot) -> Vec<String> {
    let (mut dropped, mut created, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for (key, object) in &from.objects {
        match to.objects.get(key) {
            None if !belongs_to(object, from, to) => dropped.push(key),
            Some(new) if is_replaced(object, new) => {
                dropped.push(key);
                created.push(key);
            }
            Some(new) => changed.extend(find_change(key, object, new).map(|statement| (key, statement))),
            None => {}
        }
    }
    let is_new = |(key, object): &(&Key, &SchemaObject)| {
        !(from.objects.contains_key(*key) || object.is_inline && belongs_to(object, to, from))
    };
    created.extend(to.objects.iter().filter(is_new).map(|(key, _)| key));
    let drop = |key: &&Key| from.objects[*key].drop.clone();
    let mut drops = order(from, &dropped);
    drops.reverse();
    let (last, first): (Vec<&Key>, Vec<&Key>) =
        drops.into_iter().partition(|key| DROPPED_LAST.contains(&key.0.as_str()) && !to.objects.contains_key(*key));
    let mut steps: BTreeMap<&Key, &String> = created.iter().map(|key| (*key, &to.objects[*key].create)).collect();
    steps.extend(changed);
    let keys: Vec<&Key> = steps.keys().copied().collect();
    let ordered = order(to, &keys);
    let middle = ordered.iter().map(|key| steps[key].clone());
    first.iter().map(drop).chain(middle).chain(last.iter().map(drop)).collect()
}

/// Whether the object belongs to one that only its own database has.
fn belongs_to(object: &SchemaObject, own: &Snapshot, other: &Snapshot) -> bool {
    let parent = object.parent.as_ref().and_then(|id| own.keys.get(id));
    parent.is_some_and(|key| !other.objects.contains_key(key) || belongs_to(&own.objects[key], own, other))
}

/// Whether a changed object is dropped and created again.
fn is_replaced(old: &SchemaObject, new: &SchemaObject) -> bool {
    old.create != new.create && (old.change.is_none() || new.change.is_none())
}

/// Returns the statement that changes an object to another one, if they differ in what it changes.
fn find_change<'a>(key: &Key, old: &SchemaObject, new: &'a SchemaObject) -> Option<&'a String> {
    let change = new.change.as_ref().filter(|change| !change.is_empty())?;
    // A default and NOT NULL are compared apart from the column's type.
    let is_changed = if key.0 == "column" { old.change != new.change } else { old.create != new.create };
    is_changed.then_some(change)
}

/// Orders objects so that each follows those that it depends on, otherwise by phase.
///
/// Objects that depend on each other are in the order of their phases.
fn order<'a>(snapshot: &Snapshot, keys: &[&'a Key]) -> Vec<&'a Key> {
    let rank = |key: &Key| {
        let object = &snapshot.objects[key];
        (object.phase, object.parent.clone(), object.ordinal, key.clone())
    };
    let mut by_rank: Vec<&Key> = keys.to_vec();
    by_rank.sort_by_cached_key(|key| rank(key));
    let by_id: BTreeMap<&str, &Key> = by_rank.iter().map(|key| (snapshot.objects[*key].id.as_str(), *key)).collect();
    let (mut ordered, mut visited) = (Vec::new(), BTreeSet::new());
    for key in by_rank {
        // Depth first, with a stack of its own: chains of dependencies may be long.
        let mut stack = vec![(key, false)];
        while let Some((key, is_complete)) = stack.pop() {
            if is_complete {
                ordered.push(key);
            } else if visited.insert(key) {
                stack.push((key, true));
                let before = snapshot.before.get(&snapshot.objects[key].id).into_iter().flatten();
                stack.extend(before.filter_map(|id| by_id.get(id.as_str())).map(|key| (*key, false)));
            }
        }
    }
    ordered
}
