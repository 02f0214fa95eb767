//! The objects of a database, read from its catalogue.

use std::collections::BTreeMap;

use anyhow::Context;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::database;

/// All names are qualified, and what is read belongs together.
const BEGIN: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = ''; SET LOCAL statement_timeout = '60s'";

/// An object of a database, or a property of one that is changed alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaObject {
    /// Identifies it in its database.
    pub id: String,
    /// The rank of its kind when objects are created.
    pub phase: i32,
    /// Its rank among those of its kind in one table or type.
    pub ordinal: i32,
    /// The id of the object that it belongs to, with which it is dropped.
    pub parent: Option<String>,
    /// Whether it is created with that object.
    pub is_inline: bool,
    /// The statement that creates it; two databases are compared by it.
    pub create: String,
    /// The statement that changes another one to it: empty if nothing is to be changed, `None` if it is created again.
    pub change: Option<String>,
    /// The statement that drops it.
    pub drop: String,
}

/// The objects of a database, by kind and name.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub objects: BTreeMap<(String, String), SchemaObject>,
    /// Kind and name of the object of an id.
    pub keys: BTreeMap<String, (String, String)>,
    /// For an id the ids of the objects that exist before it.
    pub before: BTreeMap<String, Vec<String>>,
}

impl Snapshot {
    /// Reads the objects of the database of a URL in a short read-only transaction.
    ///
    /// # Errors
    /// The database cannot be reached or read.
    pub(super) async fn read(url: &str) -> anyhow::Result<Self> {
        let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
        let pool = database::build_migration_pool(&settings).await?;
        let mut connection = platform::store::acquire_connection(&pool).await.context("connecting to the database")?;
        let snapshot = read_objects(&mut connection).await;
        drop(connection.close().await);
        pool.close().await;
        snapshot.context("reading the catalogue of the database")
    }
}

async fn read_objects(connection: &mut PgConnection) -> Result<Snapshot, sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(BEGIN)).execute(&mut *connection).await?;
    let mut snapshot = Snapshot::default();
    for row in sqlx::raw_sql(include_str!("objects.sql")).fetch_all(&mut *connection).await? {
        let object = SchemaObject {
            id: row.try_get("id")?,
            phase: row.try_get("phase")?,
            ordinal: row.try_get("ordinal")?,
            parent: row.try_get("parent")?,
            is_inline: row.try_get("is_inline")?,
            create: row.try_get("create_sql")?,
            change: row.try_get("change_sql")?,
            drop: row.try_get("drop_sql")?,
        };
        let key: (String, String) = (row.try_get("kind")?, row.try_get("name")?);
        snapshot.keys.insert(object.id.clone(), key.clone());
        snapshot.objects.insert(key, object);
    }
    for row in sqlx::raw_sql(include_str!("dependencies.sql")).fetch_all(&mut *connection).await? {
        snapshot.before.entry(row.try_get("id")?).or_default().push(row.try_get("before")?);
    }
    sqlx::raw_sql("COMMIT").execute(connection).await?;
    Ok(snapshot)
}
