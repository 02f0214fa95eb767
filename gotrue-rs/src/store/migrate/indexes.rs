//! Indexes for listing and searching accounts, made while the server serves: one after the other, without locking the table,
//! by one server of several. What is there stays; what a broken-off run left half-made is made anew.

use std::time::Instant;

use gotrue_rules::domain::policy::IndexWorkerPolicy;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use super::{MigrateError, While};

/// Names and definitions: those of the reference, so that both find each other's.
const INDEXES: [(&str, &str); 4] = [
    ("idx_users_email", "users USING btree (email)"),
    ("idx_users_created_at_desc", "users (created_at DESC)"),
    ("idx_users_last_sign_in_at_desc", "users (last_sign_in_at DESC)"),
    (
        "idx_users_name",
        "users USING btree ((raw_user_meta_data->>'name')) WHERE (raw_user_meta_data->>'name') IS NOT NULL",
    ),
];

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indexes {
    /// The policy does not want them.
    NotWanted,
    /// All of them are there.
    There,
    /// These were made.
    Made(Vec<&'static str>),
    /// Another server is at it.
    Elsewhere,
    /// There are about so many accounts, more than the policy allows.
    TooManyAccounts(i64),
    /// The table is kept by an engine that cannot make indexes without locking it.
    Unsupported,
}

/// Makes the indexes that are missing, on a connection of its own: none of the pool's is held, and no statement is stopped
/// for taking long.
pub async fn indexes(options: &PgConnectOptions, policy: &IndexWorkerPolicy) -> Result<Indexes, MigrateError> {
    if !policy.ensure_user_search_indexes_exist && policy.max_users_threshold <= 0 {
        return Ok(Indexes::NotWanted);
    }
    let options = options.clone().application_name("basalt indexes");
    let mut connection = PgConnection::connect_with(&options).await.during("connecting to make indexes")?;
    let made = on(&mut connection, policy).await;
    // The lock goes with the connection.
    let _ = connection.close().await;
    made
}

async fn on(connection: &mut PgConnection, policy: &IndexWorkerPolicy) -> Result<Indexes, MigrateError> {
    super::run(connection, "SET statement_timeout = 0".to_owned()).await.during("preparing to make indexes")?;
    let table = read_table(connection).await?;
    if table.engine == "orioledb" {
        return Ok(Indexes::Unsupported);
    }
    if !locked(connection).await? {
        return Ok(Indexes::Elsewhere);
    }
    let known = known(connection).await?;
    let is_whole = |name: &str| known.iter().any(|(known, is_whole)| known == name && *is_whole);
    let missing: Vec<_> = INDEXES.into_iter().filter(|(name, _)| !is_whole(name)).collect();
    if missing.is_empty() {
        return Ok(Indexes::There);
    }
    if !policy.ensure_user_search_indexes_exist && table.accounts > policy.max_users_threshold {
        return Ok(Indexes::TooManyAccounts(table.accounts));
    }
    let (mut made, mut failed) = (Vec::new(), Vec::new());
    for (name, definition) in missing {
        let is_broken = known.iter().any(|(known, _)| known == name);
        let started = Instant::now();
        match make(connection, name, definition, is_broken).await {
            Ok(()) => {
                let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                tracing::info!(index = name, duration_ms, "made an index");
                made.push(name);
            }
            Err(error) => {
                tracing::warn!(index = name, %error, "an index could not be made");
                failed.push(name);
            }
        }
    }
    if failed.is_empty() { Ok(Indexes::Made(made)) } else { Err(MigrateError::Indexes(failed.join(", "))) }
}

struct Table {
    engine: String,
    /// About how many accounts there are; negative before the database has counted.
    accounts: i64,
}

async fn read_table(connection: &mut PgConnection) -> Result<Table, MigrateError> {
    let sql = "SELECT m.amname::text, c.reltuples::bigint
               FROM pg_class c
               JOIN pg_am m ON m.oid = c.relam
               WHERE c.oid = 'users'::regclass";
    let (engine, accounts) = sqlx::query_as(sql).fetch_one(connection).await.during("looking at the table users")?;
    Ok(Table { engine, accounts })
}

/// Takes the lock that the reference takes too, if nobody has it.
async fn locked(connection: &mut PgConnection) -> Result<bool, MigrateError> {
    let sql = "SELECT pg_try_advisory_lock(hashtext('auth_index_worker')::bigint)";
    sqlx::query_scalar(sql).fetch_one(connection).await.during("taking the lock of the index worker")
}

/// The indexes of these names on the table, and whether they can be used.
async fn known(connection: &mut PgConnection) -> Result<Vec<(String, bool)>, MigrateError> {
    let names: Vec<&str> = INDEXES.iter().map(|(name, _)| *name).collect();
    let sql = "SELECT c.relname::text, i.indisvalid AND i.indisready
               FROM pg_index i
               JOIN pg_class c ON c.oid = i.indexrelid
               WHERE i.indrelid = 'users'::regclass
                 AND c.relname = ANY($1)";
    sqlx::query_as(sql).bind(names).fetch_all(connection).await.during("looking at the indexes of users")
}

async fn make(connection: &mut PgConnection, name: &str, definition: &str, is_broken: bool) -> Result<(), sqlx::Error> {
    if is_broken {
        super::run(connection, format!("DROP INDEX CONCURRENTLY IF EXISTS {name}")).await?;
    }
    super::run(connection, format!("CREATE INDEX CONCURRENTLY {name} ON {definition}")).await
}
