//! Indexes for listing and searching users, created while the server is running.
//!
//! They are created one after the other, without locking the table, by one of several servers. Existing indexes stay;
//! invalid ones of an interrupted run are rebuilt.

use std::time::Instant;

use gotrue_rules::domain::error::chain::ErrorChain;
use gotrue_rules::domain::policy::IndexWorkerPolicy;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use super::{ErrorContext, MigrateError};

/// Names and definitions of the indexes, those of the reference.
const INDEXES: [(&str, &str); 4] = [
    ("idx_users_email", "users USING btree (email)"),
    ("idx_users_created_at_desc", "users (created_at DESC)"),
    ("idx_users_last_sign_in_at_desc", "users (last_sign_in_at DESC)"),
    (
        "idx_users_name",
        "users USING btree ((raw_user_meta_data->>'name')) WHERE (raw_user_meta_data->>'name') IS NOT NULL",
    ),
];

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

/// Creates the missing indexes.
///
/// Uses a connection outside the pool, without a statement timeout.
pub async fn create_indexes(
    options: &PgConnectOptions,
    policy: &IndexWorkerPolicy,
) -> Result<IndexOutcome, MigrateError> {
    if !policy.ensure_user_search_indexes_exist && policy.max_users_threshold <= 0 {
        return Ok(IndexOutcome::Disabled);
    }
    // The last value of an option applies. It is given at the start of the connection: a `SET` behind a pooler in
    // transaction mode would apply to other clients.
    let options = options.clone().application_name("basalt indexes").options([("statement_timeout", "0")]);
    let mut connection = PgConnection::connect_with(&options).await.during("connecting to create indexes")?;
    let mut lock = PgConnection::connect_with(&options).await.during("connecting for the lock of the index worker")?;
    let made = create_with_lock(&mut connection, &mut lock, policy).await;
    let _ = connection.close().await;
    let _ = lock.close().await;
    made
}

/// Creates the missing indexes while a transaction of the connection `lock` holds the lock.
///
/// `CREATE INDEX CONCURRENTLY` cannot run in a transaction, and waits for none that reads nothing. The lock ends with its
/// transaction, also behind a pooler (`docs/decisions/0096-one-replica-runs-a-job.md`).
async fn create_with_lock(
    connection: &mut PgConnection,
    lock: &mut PgConnection,
    policy: &IndexWorkerPolicy,
) -> Result<IndexOutcome, MigrateError> {
    let mut transaction = lock.begin().await.during("beginning the transaction of the index worker")?;
    if !try_lock(&mut transaction).await? {
        return Ok(IndexOutcome::InProgress);
    }
    let made = create_missing(connection, policy).await;
    // The transaction has written nothing: whether it is committed does not matter.
    drop(transaction.rollback().await);
    made
}

async fn create_missing(
    connection: &mut PgConnection,
    policy: &IndexWorkerPolicy,
) -> Result<IndexOutcome, MigrateError> {
    let table = read_table(connection).await?;
    if table.engine == "orioledb" {
        return Ok(IndexOutcome::Unsupported);
    }
    let known = list_existing(connection).await?;
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
        match create_index(connection, name, definition, is_broken).await {
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
    if failed.is_empty() { Ok(IndexOutcome::Created(made)) } else { Err(MigrateError::Indexes(failed.join(", "))) }
}

struct TableProperties {
    engine: String,
    /// The estimated number of users; negative before the first `ANALYZE`.
    accounts: i64,
}

async fn read_table(connection: &mut PgConnection) -> Result<TableProperties, MigrateError> {
    let sql = "SELECT m.amname::text, c.reltuples::bigint
               FROM pg_class c
               JOIN pg_am m ON m.oid = c.relam
               WHERE c.oid = 'users'::regclass";
    let (engine, accounts) =
        sqlx::query_as(sql).fetch_one(connection).await.during("reading the properties of table users")?;
    Ok(TableProperties { engine, accounts })
}

/// Tries to take the advisory lock that the reference uses, too, until the transaction ends.
async fn try_lock(connection: &mut PgConnection) -> Result<bool, MigrateError> {
    super::run_script(connection, "SET LOCAL idle_in_transaction_session_timeout = 0".to_owned())
        .await
        .during("disabling the timeout of idle transactions")?;
    let sql = "SELECT pg_try_advisory_xact_lock(hashtext('auth_index_worker')::bigint)";
    sqlx::query_scalar(sql).fetch_one(connection).await.during("acquiring the lock of the index worker")
}

/// Returns the existing indexes of these names, and whether they are valid.
async fn list_existing(connection: &mut PgConnection) -> Result<Vec<(String, bool)>, MigrateError> {
    let names: Vec<&str> = INDEXES.iter().map(|(name, _)| *name).collect();
    let sql = "SELECT c.relname::text, i.indisvalid AND i.indisready
               FROM pg_index i
               JOIN pg_class c ON c.oid = i.indexrelid
               WHERE i.indrelid = 'users'::regclass
                 AND c.relname = ANY($1)";
    sqlx::query_as(sql).bind(names).fetch_all(connection).await.during("reading the indexes of table users")
}

async fn create_index(
    connection: &mut PgConnection,
    name: &str,
    definition: &str,
    is_broken: bool,
) -> Result<(), sqlx::Error> {
    if is_broken {
        super::run_script(connection, format!("DROP INDEX CONCURRENTLY IF EXISTS {name}")).await?;
    }
    super::run_script(connection, format!("CREATE INDEX CONCURRENTLY {name} ON {definition}")).await
}
