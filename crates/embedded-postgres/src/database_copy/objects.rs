//! The objects of a database, in a form that does not depend on the release of PostgreSQL.

use sqlx::{PgConnection, Result, Row};

use super::query::{fetch, fetch_texts};

/// The query of the objects.
const LIST: &str = include_str!("objects.sql");

/// An object of a database that PostgreSQL did not create itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogObject {
    /// Its kind, as PostgreSQL names it: `table`, `index`, `trigger`.
    pub kind: String,
    /// Its name with that of its schema or table.
    pub name: String,
    /// What it consists of; `None` if that cannot be compared between releases.
    pub definition: Option<String>,
}

/// Lists the objects of the database.
pub async fn list_objects(connection: &mut PgConnection) -> Result<Vec<CatalogObject>> {
    let rows = fetch(connection, LIST).await?;
    let object = |row: &sqlx::postgres::PgRow| {
        Ok(CatalogObject { kind: row.try_get(0)?, name: row.try_get(1)?, definition: row.try_get(2)? })
    };
    rows.iter().map(object).collect()
}

/// Lists the extensions of a database that the server of another one does not have.
pub async fn list_missing_extensions(database: &mut PgConnection, other: &mut PgConnection) -> Result<Vec<String>> {
    let mut names = fetch_texts(
        database,
        "SELECT extname::text FROM pg_catalog.pg_extension WHERE extversion <> 'basalt' ORDER BY 1",
    )
    .await?;
    let known = fetch_texts(other, "SELECT name::text FROM pg_catalog.pg_available_extensions").await?;
    names.retain(|name| !known.contains(name));
    Ok(names)
}

/// Lists the databases of the cluster beside the connected one.
pub async fn list_other_databases(connection: &mut PgConnection) -> Result<Vec<String>> {
    let sql = "SELECT datname::text
               FROM pg_catalog.pg_database
               WHERE NOT datistemplate
                 AND datname <> pg_catalog.current_database()
               ORDER BY 1";
    fetch_texts(connection, sql).await
}
