//! What stands in the database, seen by a superuser beside the pool: its sessions, and every row of our schemas.

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
use crate::args;
use crate::store::{Connection, Pool, Statement};

/// Each table with a key of its rows: the primary one, else all of the row.
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

/// The process behind the connection of a pool.
const PID: Statement = Statement { name: "tests.pid", sql: "SELECT pg_backend_pid()" };
/// How long sessions may take to come to rest.
const REST: Duration = Duration::from_secs(2);
/// No statement takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A superuser's view.
#[derive(Debug)]
pub struct Ledger {
    database: Mutex<PgConnection>,
    rows: String,
}

/// Every row under its table and key.
pub type Rows = BTreeMap<(String, String), String>;

impl Ledger {
    /// Looks at that database.
    pub async fn of(database: &TestDatabase) -> Self {
        let mut database = PgConnection::connect_with(&database.admin_options()).await.expect("a connection");
        let tables = sqlx::raw_sql(TABLES).fetch_all(&mut database).await.expect("the tables");
        let select = |row: &sqlx::postgres::PgRow| {
            let (table, key): (String, String) = (row.get(0), row.get(1));
            format!("SELECT '{table}', {key}, to_jsonb(t)::text FROM {table} t")
        };
        let rows = tables.iter().map(select).collect::<Vec<_>>().join(" UNION ALL ");
        Self { database: Mutex::new(database), rows }
    }

    /// Every row of our schemas.
    pub async fn rows(&self) -> Rows {
        let mut database = self.database.lock().await;
        let rows = sqlx::query(AssertSqlSafe(self.rows.clone())).fetch_all(&mut *database).await.expect("the rows");
        rows.iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect()
    }

    /// Waits until the one connection of a pool is the only other session and at rest; returns its process.
    ///
    /// # Errors
    /// In which state the sessions are instead, or why the pool runs no statement.
    pub async fn rest(&self, pool: &Pool) -> Result<i32, String> {
        let pid = process(pool).await?;
        let resting = async {
            while !self.busy(pid).await.is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        match timeout(REST, resting).await {
            Ok(()) => Ok(pid),
            Err(_) => Err(format!("sessions are not at rest: {}", self.busy(pid).await.join("; "))),
        }
    }

    /// Has a pool of one connection open another one for its next statement.
    ///
    /// # Errors
    /// As [`Ledger::rest`], or the pool does not give the old one up.
    pub async fn renew(&self, pool: &Pool) -> Result<(), String> {
        let pid = process(pool).await?;
        let mut database = self.database.lock().await;
        let ended = sqlx::query("SELECT pg_terminate_backend($1, 2000)").bind(pid).execute(&mut *database).await;
        ended.expect("a superuser may");
        drop(database);
        // The first one finds out.
        let _ = process(pool).await;
        if self.rest(pool).await? == pid { Err("the pool keeps a dead connection".to_owned()) } else { Ok(()) }
    }

    /// The first column of the only row, as text.
    pub async fn text(&self, sql: &'static str, id: &str) -> String {
        let mut database = self.database.lock().await;
        sqlx::query_scalar(sql).bind(id).fetch_one(&mut *database).await.expect("a row")
    }

    /// The other sessions of the database that are not that process, or not at rest.
    async fn busy(&self, pid: i32) -> Vec<String> {
        let mut database = self.database.lock().await;
        let rows = sqlx::query(SESSIONS).bind(pid).fetch_all(&mut *database).await.expect("the sessions");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

async fn process(pool: &Pool) -> Result<i32, String> {
    let mut db = Connection::pooled(pool.clone(), Arc::default());
    let asked = timeout(PATIENCE, db.one::<(i32,)>(&PID, args![])).await;
    let (pid,) = asked
        .map_err(|_| "no connection can be had".to_owned())?
        .map_err(|error| format!("the next statement fails: {error}"))?;
    Ok(pid)
}

/// Drops a future when it waits for the n-th time; `None` then.
pub async fn dropped_at<F: Future>(n: usize, future: F) -> Option<F::Output> {
    let mut waits = 0;
    let is_now = || {
        waits += 1;
        waits == n
    };
    dropped_when(is_now, future).await
}

/// Drops a future when it waits and is to be dropped now; `None` then.
pub async fn dropped_when<F: Future>(mut is_now: impl FnMut() -> bool, future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let outcome = poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending if is_now() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    outcome.await
}

/// Ends all sleeps on a clock when a future waits for the n-th time, and waits for it. Whether that was needed.
pub async fn out_of_time_at<F: Future>(n: usize, clock: &FakeClock, future: F) -> (F::Output, bool) {
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
    let outcome = timeout(PATIENCE, outcome).await.expect("it ends in time");
    (outcome, waits >= n)
}

/// What was written: per table, how many rows came, went, and changed in which columns.
pub fn written(before: &Rows, after: &Rows) -> Vec<String> {
    let keys: BTreeSet<&(String, String)> = before.keys().chain(after.keys()).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for key in keys {
        let table = &key.0;
        let what = match (before.get(key), after.get(key)) {
            (None, _) => format!("+ {table}"),
            (_, None) => format!("- {table}"),
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => format!("~ {table}({})", columns(old, new).join(",")),
        };
        *counts.entry(what).or_default() += 1;
    }
    counts.into_iter().map(|(what, count)| format!("{count}{what}")).collect()
}

fn columns(old: &str, new: &str) -> Vec<String> {
    let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).expect("a row is an object");
    let (old, new) = (read(old), read(new));
    old.iter().filter(|(name, value)| new.get(*name) != Some(value)).map(|(name, _)| name.clone()).collect()
}
