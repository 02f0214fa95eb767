//! Creates the objects of the old database in the new one from the migrations that made them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Context;
use embedded_postgres::database_copy::{self, CatalogObject};

use super::session::UpgradeSession;
use crate::project::Project;
use crate::project_schema;

/// Kinds that are parts of other objects and say nothing in a message if those are named.
const PARTS: [&str; 5] = ["type", "default value", "rule", "table constraint", "index"];
/// The largest number of objects in a message.
const MAX_NAMED: usize = 8;

/// Creates Basalt's objects, those of the project's migrations, and missing indexes.
///
/// `versions` are the migrations of the project that ran on the old database, if there are any.
///
/// Returns the objects in which the databases differ nevertheless.
pub(super) async fn define_objects(
    project: &Project,
    versions: Option<&[String]>,
    old: &mut UpgradeSession,
    new: &mut UpgradeSession,
) -> anyhow::Result<Vec<CatalogObject>> {
    new.migrate().await?;
    if let Some(versions) = versions {
        // A file that does not run any more leaves objects that are missing.
        let applied = project_schema::apply_versions(project, &new.url(), versions).await;
        if let Err(error) = applied {
            eprintln!("The migrations of the project cannot create its objects again: {error:#}");
        }
    }
    let wanted: BTreeSet<CatalogObject> = list(old).await?;
    let created: BTreeSet<CatalogObject> = list(new).await?;
    let definitions: Vec<String> = wanted.difference(&created).filter_map(find_index_definition).collect();
    for definition in definitions {
        // An index of a table that does not exist is one more difference.
        let _ = database_copy::run_statements(&mut new.connection, &[definition]).await;
    }
    let created = list(new).await?;
    let is_ready = |object: &CatalogObject| created.contains(object) && can_copy_beside(object);
    let mut others: Vec<CatalogObject> = wanted.iter().filter(|object| !is_ready(object)).cloned().collect();
    others.extend(created.difference(&wanted).cloned());
    Ok(others)
}

/// Returns whether an object is equal in both databases and stays out of the copying of rows.
fn can_copy_beside(object: &CatalogObject) -> bool {
    // `ENABLE ALWAYS` and `ENABLE REPLICA`: the trigger runs for copied rows.
    let is_running = |definition: &str| object.kind == "trigger" && definition.starts_with(['A', 'R']);
    object.definition.as_deref().is_some_and(|definition| !is_running(definition))
}

async fn list(session: &mut UpgradeSession) -> anyhow::Result<BTreeSet<CatalogObject>> {
    let objects =
        database_copy::list_objects(&mut session.connection).await.context("listing the objects of the database")?;
    Ok(objects.into_iter().collect())
}

/// Returns the statement that creates an index, such as one that a server created in the background.
fn find_index_definition(object: &CatalogObject) -> Option<String> {
    let definition = object.definition.as_ref().filter(|_| object.kind == "index")?;
    let start = ["CREATE INDEX ", "CREATE UNIQUE INDEX "].iter().find_map(|words| definition.find(words))?;
    Some(definition[start..].to_owned())
}

/// Formats what is to be done if objects need programs that are missing.
pub(super) fn explain_tools(others: &[CatalogObject], major: u32) -> String {
    let mut named: BTreeSet<String> = BTreeSet::new();
    for object in others.iter().filter(|object| !PARTS.contains(&object.kind.as_str())) {
        named.insert(format!("{} {}", object.kind, object.name));
    }
    if named.is_empty() {
        named.extend(others.iter().map(|object| format!("{} {}", object.kind, object.name)));
    }
    let more = named.len().saturating_sub(MAX_NAMED);
    let mut text = "the database has objects that neither Basalt nor the migrations of the project create: ".to_owned();
    text.push_str(&named.into_iter().take(MAX_NAMED).collect::<Vec<_>>().join(", "));
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    let _ = write!(
        text,
        ". They are copied with PostgreSQL's programs pg_dump and pg_restore, of release {major} or the old one, which were not \
         found: install them (`apt-get install postgresql-client-{major}`, `brew install postgresql@{major}`), or drop the \
         objects, and run this command again"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: &str, definition: &str) -> CatalogObject {
        CatalogObject { kind: kind.to_owned(), name: name.to_owned(), definition: Some(definition.to_owned()) }
    }

    #[test]
    fn definition_of_an_index_is_its_statement() {
        let statement = "CREATE UNIQUE INDEX a_b_idx ON public.a USING btree (b)";
        let index = object("index", "public.a_b_idx", &format!("i p f f postgres {statement}"));
        assert_eq!(find_index_definition(&index).as_deref(), Some(statement));
        assert_eq!(find_index_definition(&object("table", "public.a", statement)), None);
        assert_eq!(find_index_definition(&object("index", "public.a", "i p f f postgres")), None);
    }

    #[test]
    fn message_names_whole_objects_and_counts_the_rest() {
        let mut others: Vec<CatalogObject> = (0..10).map(|n| object("table", &format!("public.t{n}"), "")).collect();
        others.push(object("type", "public.t1", ""));
        let text = explain_tools(&others, 17);
        assert!(text.contains("table public.t0, table public.t1,") && text.contains("t7 and 2 more"), "{text}");
        assert!(!text.contains("type public") && text.contains("postgresql-client-17"), "{text}");
        assert!(explain_tools(&others[10..], 17).contains(": type public.t1."));
    }
}
