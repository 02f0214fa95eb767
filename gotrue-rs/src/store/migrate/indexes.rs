//! Indexes for listing and searching users, created while the server is running.
//!
//! They are created one after the other, without locking the table, by one of several servers. Existing indexes stay;
//! invalid ones of an interrupted run are rebuilt.

use std::time::Instant;

use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::policy::IndexWorkerPolicy;
use platform::store::leases::JobLease;
use platform::store::migrate::{ErrorContext, run_script};
use platform::store::pool::Pool;
use platform::store::quoting::quote_identifier;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::error::AuthMigrateError;
use super::index_lock::IndexLock;

/// Names and definitions of the indexes, those of the reference.
const INDEXES: [(&str, &str); 4] = [
    ("idx_users_email", "USING btree (email)"),
    ("idx_users_created_at_desc", "(created_at DESC)"),
    ("idx_users_last_sign_in_at_desc", "(last_sign_in_at DESC)"),
    ("idx_users_name", "USING btree ((raw_user_meta_data->>'name')) WHERE (raw_user_meta_data->>'name') IS NOT NULL"),
];

/// The attempts to create an index.
const ATTEMPTS: u32 = 3;

/// The outcome of [`create_indexes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexOutcome {
    /// The policy disables the indexes.
    Disabled,
    /// All indexes exist.
    Present,
    /// These indexes were created.
    Created(Vec<&'static str>),
    /// Another server is creating them.
    InProgress,
    /// The estimated number of users exceeds the policy's threshold.
    TooManyAccounts(i64),
    /// The table's access method cannot create indexes concurrently.
    Unsupported,
}

/// Creates the missing indexes while this server holds the lock.
///
/// The lock is `lease`, or without one that of the reference.
///
/// Uses a connection beside the pool. Each statement is one message outside a transaction and depends on no setting of
/// the session, so that it may pass a pooler in transaction mode
/// (`docs/decisions/0109-indexes-are-created-through-poolers.md`).
pub async fn create_indexes(
    pool: &Pool,
    policy: &IndexWorkerPolicy,
    lease: Option<&JobLease>,
) -> Result<IndexOutcome, AuthMigrateError> {
    if !policy.ensure_user_search_indexes_exist && policy.max_users_threshold <= 0 {
        return Ok(IndexOutcome::Disabled);
    }
    let Some(lock) = IndexLock::acquire(pool, lease).await? else { return Ok(IndexOutcome::InProgress) };
    let made = tokio::select! {
        made = create_on_connection(pool, policy) => made,
        () = lock.renew() => Ok(IndexOutcome::InProgress),
    };
    lock.release().await;
    made
}

async fn create_on_connection(pool: &Pool, policy: &IndexWorkerPolicy) -> Result<IndexOutcome, AuthMigrateError> {
    let (mut connection, is_direct) = pool.connect_beside().await.during("connecting to create indexes")?;
    if is_direct {
        // Behind a pooler this would apply to other clients: there the time limit of the role counts.
        let settings = "SET application_name = 'basalt indexes'; SET statement_timeout = 0";
        run_script(&mut connection, settings.to_owned()).await.during("removing the time limit of statements")?;
    }
    let schema = pool.schema().map(|schema| format!("{}.", quote_identifier(schema))).unwrap_or_default();
    let made = create_missing(&mut connection, &schema, policy).await;
    drop(sqlx::Connection::close(connection).await);
    made
}

/// Creates the missing indexes in `schema`, which is empty or a quoted name with a point.
async fn create_missing(
    connection: &mut PgConnection,
    schema: &str,
    policy: &IndexWorkerPolicy,
) -> Result<IndexOutcome, AuthMigrateError> {
    let table = read_table(connection, schema).await?;
    if table.engine == "orioledb" {
        return Ok(IndexOutcome::Unsupported);
    }
    // Another server lost its lock, or it is the reference: an index that is being created counts as invalid until then.
    if table.is_being_indexed {
        return Ok(IndexOutcome::InProgress);
    }
    let known = list_existing(connection, schema).await?;
    let is_whole = |name: &str| known.iter().any(|(known, is_whole)| known == name && *is_whole);
    let missing: Vec<_> = INDEXES.into_iter().filter(|(name, _)| !is_whole(name)).collect();
    if missing.is_empty() {
        return Ok(IndexOutcome::Present);
    }
    if !policy.ensure_user_search_indexes_exist && table.accounts > policy.max_users_threshold {
        return Ok(IndexOutcome::TooManyAccounts(table.accounts));
    }
    let (mut made, mut failed) = (Vec::new(), Vec::new());
    for (name, definition) in missing {
        let is_broken = known.iter().any(|(known, _)| known == name);
        let started = Instant::now();
        match create_despite_deadlocks(connection, &Index { schema, name, definition }, is_broken).await {
            Ok(()) => {
                let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                tracing::info!(index = name, duration_ms, "index created");
                made.push(name);
            }
            Err(error) => {
                tracing::warn!(index = name, error = %ErrorChain(&error), "index creation failed");
                failed.push(name);
            }
        }
    }
    if failed.is_empty() { Ok(IndexOutcome::Created(made)) } else { Err(AuthMigrateError::Indexes(failed.join(", "))) }
}

struct TableProperties {
    engine: String,
    /// The estimated number of users; negative before the first `ANALYZE`.
    accounts: i64,
    /// Whether an index of it is being created now.
    is_being_indexed: bool,
}

async fn read_table(connection: &mut PgConnection, schema: &str) -> Result<TableProperties, AuthMigrateError> {
    let sql = format!(
        "SELECT m.amname::text,
                c.reltuples::bigint,
                EXISTS (SELECT
                        FROM pg_catalog.pg_stat_progress_create_index p
                        WHERE p.datname = pg_catalog.current_database()
                          AND p.relid = c.oid)
         FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_am m ON m.oid = c.relam
         WHERE c.oid = '{schema}users'::regclass"
    );
    let read = async {
        let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(connection).await?;
        Ok(TableProperties { engine: row.try_get(0)?, accounts: row.try_get(1)?, is_being_indexed: row.try_get(2)? })
    };
    Ok(read.await.during("reading the properties of table users")?)
}

/// Returns the existing indexes of these names, and whether they are valid.
async fn list_existing(connection: &mut PgConnection, schema: &str) -> Result<Vec<(String, bool)>, AuthMigrateError> {
    let names = INDEXES.map(|(name, _)| format!("'{name}'")).join(", ");
    let sql = format!(
        "SELECT c.relname::text,
                i.indisvalid AND i.indisready
         FROM pg_catalog.pg_index i
         JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
         WHERE i.indrelid = '{schema}users'::regclass
           AND c.relname IN ({names})"
    );
    let read = async {
        let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<Vec<_>, sqlx::Error>>()
    };
    Ok(read.await.during("reading the indexes of table users")?)
}

struct Index<'a> {
    schema: &'a str,
    name: &'a str,
    definition: &'a str,
}

/// Creates an index, again if PostgreSQL ends a deadlock by its failure.
///
/// The index waits for older transactions, and one that changes the table, such as a migration, waits for the index.
async fn create_despite_deadlocks(
    connection: &mut PgConnection,
    index: &Index<'_>,
    mut is_broken: bool,
) -> Result<(), sqlx::Error> {
    for _ in 1..ATTEMPTS {
        match create_index(connection, index, is_broken).await {
            Err(error) if is_deadlock(&error) => is_broken = true,
            outcome => return outcome,
        }
        tracing::info!(
            index = index.name,
            "the index and another transaction waited for each other, it is created again"
        );
    }
    create_index(connection, index, is_broken).await
}

fn is_deadlock(error: &sqlx::Error) -> bool {
    const DEADLOCK_DETECTED: &str = "40P01";
    error.as_database_error().is_some_and(|database_error| database_error.code().as_deref() == Some(DEADLOCK_DETECTED))
}

/// Creates an index, after dropping the invalid one of this name.
///
/// These are two messages, because neither statement may be in a transaction.
async fn create_index(connection: &mut PgConnection, index: &Index<'_>, is_broken: bool) -> Result<(), sqlx::Error> {
    let Index { schema, name, definition } = index;
    if is_broken {
        run_script(connection, format!("DROP INDEX CONCURRENTLY IF EXISTS {schema}{name}")).await?;
    }
    run_script(connection, format!("CREATE INDEX CONCURRENTLY {name} ON {schema}users {definition}")).await
}
