//! Reads sessions and all rows of the database as a superuser, outside the pool of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde_json::{Map, Value};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::clock::FakeClock;
use super::database::TestDatabase;
use crate::store::{Connection, Pool, Statement};
use crate::{bind, statement};

/// Each table with the key of its rows: the primary key, or the whole row.
const TABLES: &str = "
    SELECT format('%I.%I', t.schemaname, t.tablename),
           coalesce(string_agg('t.' || quote_ident(a.attname) || '::text', ' || ''/'' || '), 'to_jsonb(t)::text')
    FROM pg_tables t
    LEFT JOIN pg_index i ON i.indrelid = format('%I.%I', t.schemaname, t.tablename)::regclass AND i.indisprimary
    LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE t.schemaname IN ('auth', 'basalt') AND t.tablename NOT LIKE '%migrations'
    GROUP BY 1";

const SESSIONS: &str = "
    SELECT format('%s %s: %s', pid, state, query)
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
      AND (pid <> $1 OR state IS DISTINCT FROM 'idle' OR xact_start IS NOT NULL)";

/// The backend process of a connection.
const PID: Statement = statement!("tests.pid": "SELECT pg_backend_pid()");
/// The most time that sessions take to become idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// The most time that a statement takes.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// A superuser connection that reads sessions and rows.
#[derive(Debug)]
pub struct DatabaseInspector {
    database: Mutex<PgConnection>,
    rows: String,
}

/// Every row by its table and key.
pub type RowSnapshot = BTreeMap<(String, String), String>;

impl DatabaseInspector {
    /// Connects to the database.
    pub async fn connect(database: &TestDatabase) -> Self {
        let mut database = PgConnection::connect_with(&database.admin_options()).await.expect("a connection");
        let tables = sqlx::raw_sql(TABLES).fetch_all(&mut database).await.expect("the tables");
        let select = |row: &sqlx::postgres::PgRow| {
            let (table, key): (String, String) = (row.get(0), row.get(1));
            format!("SELECT '{table}', {key}, to_jsonb(t)::text FROM {table} t")
        };
        let rows = tables.iter().map(select).collect::<Vec<_>>().join(" UNION ALL ");
        Self { database: Mutex::new(database), rows }
    }

    /// Reads every row of the schemas `auth` and `basalt`.
    pub async fn rows(&self) -> RowSnapshot {
        let mut database = self.database.lock().await;
        let rows = sqlx::query(AssertSqlSafe(self.rows.clone())).fetch_all(&mut *database).await.expect("the rows");
        rows.iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect()
    }

    /// Waits until the only other session is the idle connection of the pool; returns its process.
    ///
    /// # Errors
    /// The states of the sessions that are not idle, or why the pool runs no statement.
    pub async fn wait_until_idle(&self, pool: &Pool) -> Result<i32, String> {
        let pid = backend_pid(pool).await?;
        let resting = async {
            while !self.busy_sessions(pid).await.is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        match timeout(IDLE_TIMEOUT, resting).await {
            Ok(()) => Ok(pid),
            Err(_) => Err(format!("sessions are not at rest: {}", self.busy_sessions(pid).await.join("; "))),
        }
    }

    /// Makes a pool of one connection open a new one for its next statement.
    ///
    /// # Errors
    /// As [`DatabaseInspector::wait_until_idle`], or the pool keeps the old connection.
    pub async fn replace_connection(&self, pool: &Pool) -> Result<(), String> {
        let pid = backend_pid(pool).await?;
        let mut database = self.database.lock().await;
        let ended = sqlx::query("SELECT pg_terminate_backend($1, 2000)").bind(pid).execute(&mut *database).await;
        ended.expect("a superuser may");
        drop(database);
        // The first statement detects the closed connection.
        let _ = backend_pid(pool).await;
        if self.wait_until_idle(pool).await? == pid {
            Err("the pool keeps a dead connection".to_owned())
        } else {
            Ok(())
        }
    }

    /// The processes of all other sessions of the database.
    pub async fn session_pids(&self) -> Vec<i32> {
        let sql = "SELECT pid FROM pg_stat_activity
                   WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let mut database = self.database.lock().await;
        let rows = sqlx::query(sql).fetch_all(&mut *database).await.expect("the sessions");
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Ends these sessions; one whose process is stopped ends when it continues.
    pub async fn terminate(&self, pids: &[i32]) {
        let mut database = self.database.lock().await;
        let sql = "SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS t (pid)";
        sqlx::query(sql).bind(pids).execute(&mut *database).await.expect("a superuser may");
    }

    /// Makes new sessions of the database read-only, or writable again.
    pub async fn set_read_only(&self, is_read_only: bool) {
        let mut database = self.database.lock().await;
        let name: String =
            sqlx::query("SELECT current_database()::text").fetch_one(&mut *database).await.expect("a row").get(0);
        let sql = format!("ALTER DATABASE {name} SET default_transaction_read_only = {is_read_only}");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *database).await.expect("a superuser may");
    }

    /// The first column of the only row, as text.
    pub async fn select_text(&self, sql: &'static str, id: &str) -> String {
        let mut database = self.database.lock().await;
        sqlx::query_scalar(sql).bind(id).fetch_one(&mut *database).await.expect("a row")
    }

    /// The other sessions that belong to another process or are not idle.
    async fn busy_sessions(&self, pid: i32) -> Vec<String> {
        let mut database = self.database.lock().await;
        let rows = sqlx::query(SESSIONS).bind(pid).fetch_all(&mut *database).await.expect("the sessions");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

async fn backend_pid(pool: &Pool) -> Result<i32, String> {
    let mut db = Connection::pooled(pool.clone(), Arc::default());
    let result = timeout(STATEMENT_TIMEOUT, db.fetch_one::<(i32,)>(bind!(PID))).await;
    let (pid,) = result
        .map_err(|_| "no connection can be had".to_owned())?
        .map_err(|error| format!("the next statement fails: {error}"))?;
    Ok(pid)
}

/// Drops a future when it is pending for the n-th time, and returns `None` then.
pub async fn drop_at_poll<F: Future>(n: usize, future: F) -> Option<F::Output> {
    let mut waits = 0;
    let is_now = || {
        waits += 1;
        waits == n
    };
    drop_when(is_now, future).await
}

/// Drops a future when it is pending and `is_now` returns true, and returns `None` then.
pub async fn drop_when<F: Future>(mut is_now: impl FnMut() -> bool, future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let outcome = poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending if is_now() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    outcome.await
}

/// Ends all sleeps when a future is pending for the n-th time.
///
/// Returns the future's output and whether it was pending that often.
pub async fn expire_at_poll<F: Future>(n: usize, clock: &FakeClock, future: F) -> (F::Output, bool) {
    let mut future = Box::pin(future);
    let mut waits = 0;
    let outcome = poll_fn(|cx| {
        let polled = future.as_mut().poll(cx);
        if polled.is_pending() {
            waits += 1;
            if waits == n {
                clock.end_sleeps();
            }
        }
        polled
    });
    let outcome = timeout(STATEMENT_TIMEOUT, outcome).await.expect("it ends in time");
    (outcome, waits >= n)
}

/// The difference of two snapshots: per table, the inserted, deleted and updated rows with columns.
pub fn diff_rows(before: &RowSnapshot, after: &RowSnapshot) -> Vec<String> {
    let keys: BTreeSet<&(String, String)> = before.keys().chain(after.keys()).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for key in keys {
        let table = &key.0;
        let what = match (before.get(key), after.get(key)) {
            (None, _) => format!("+ {table}"),
            (_, None) => format!("- {table}"),
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => format!("~ {table}({})", changed_columns(old, new).join(",")),
        };
        *counts.entry(what).or_default() += 1;
    }
    counts.into_iter().map(|(what, count)| format!("{count}{what}")).collect()
}

fn changed_columns(old: &str, new: &str) -> Vec<String> {
    let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).expect("a row is an object");
    let (old, new) = (read(old), read(new));
    old.iter().filter(|(name, value)| new.get(*name) != Some(value)).map(|(name, _)| name.clone()).collect()
}
