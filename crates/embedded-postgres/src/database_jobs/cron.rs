//! Runs the jobs of `cron.job` and records their runs in `cron.job_run_details`, as `pg_cron` does.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use foundation::database_url::with_database;
use futures::TryStreamExt;
use platform::clock::SharedClock;
use sqlx::{AssertSqlSafe, Connection, Either, Executor, PgConnection, PgPool, Row};
use tokio::task::JoinSet;

use super::missing_table::is_missing_table;
use super::schedule::Schedule;

/// The largest number of jobs that run at the same time.
const MAX_RUNNING: usize = 32;
/// The largest number of times that a job is run after the clock was moved.
const MAX_MISSED_RUNS: usize = 60;
/// The database to which the files of a project are applied.
const MIGRATED_DATABASE: &str = "postgres";
/// How long the history is kept, in days.
const HISTORY_DAYS: i32 = 7;

/// A row of `cron.job`.
#[derive(Debug, Clone)]
struct Job {
    id: i64,
    schedule: String,
    command: String,
    database: String,
    username: String,
}

/// A job at a time when it is due.
#[derive(Debug, Clone)]
struct DueRun {
    job: Job,
    at: DateTime<Utc>,
}

/// The jobs of a database.
pub(super) struct CronJobs {
    pool: PgPool,
    url: String,
    clock: SharedClock,
    /// The time until which due jobs have been started.
    until: DateTime<Utc>,
    /// Whether the runs that the end of an earlier server has interrupted are marked.
    has_ended_interrupted: bool,
    /// Jobs that are running, which are not started again until they end.
    running: BTreeSet<i64>,
    tasks: JoinSet<i64>,
    waiting: Vec<DueRun>,
    /// The jobs that run at intervals of seconds, with their schedules, as the last turn found them.
    of_seconds: BTreeMap<i64, String>,
}

impl CronJobs {
    /// Prepares the jobs of the database at the URL of a superuser.
    ///
    /// Jobs that are due after `until` are run.
    pub(super) fn new(pool: PgPool, url: String, clock: SharedClock, until: DateTime<Utc>) -> Self {
        Self {
            pool,
            url,
            clock,
            until,
            has_ended_interrupted: false,
            running: BTreeSet::new(),
            tasks: JoinSet::new(),
            waiting: Vec::new(),
            of_seconds: BTreeMap::new(),
        }
    }

    /// Marks the runs that the end of an earlier server has interrupted; later calls have no effect.
    pub(super) async fn end_interrupted(&mut self) -> Result<(), sqlx::Error> {
        const MARK: &str =
            "UPDATE cron.job_run_details SET status = 'failed', return_message = 'server restarted', end_time = $1
            WHERE status IN ('starting', 'running')";
        if !self.has_ended_interrupted {
            sqlx::query(MARK).bind(self.clock.now()).execute(&self.pool).await?;
            self.has_ended_interrupted = true;
        }
        Ok(())
    }

    /// Returns the time until the next moment at which a job may be due.
    ///
    /// It counts from the last jobs that were started: a clock that was moved since then makes it zero.
    pub(super) fn next_turn(&self) -> std::time::Duration {
        let step = if self.of_seconds.is_empty() { 60_000 } else { 1000 };
        let last = self.until.timestamp_millis();
        let next = last - last.rem_euclid(step) + step;
        let rest = (next - self.clock.now().timestamp_millis()).clamp(0, step);
        std::time::Duration::from_millis(rest.unsigned_abs())
    }

    /// Starts the jobs that have become due.
    ///
    /// With `is_ours` false another server has started them.
    pub(super) async fn run_due(&mut self, is_ours: bool) -> Result<(), sqlx::Error> {
        let now = self.clock.now();
        let jobs = self.list_jobs().await?;
        let from = std::mem::replace(&mut self.until, now).min(now);
        let known = std::mem::take(&mut self.of_seconds);
        for job in jobs {
            let Some(schedule) = Schedule::parse(&job.schedule) else {
                tracing::warn!(job.id, "the schedule of a job cannot be read");
                continue;
            };
            let is_of_seconds = matches!(schedule, Schedule::Seconds(_));
            // The last turn may be a minute ago: a job that it did not find is not due for the time before its schedule.
            let is_new = is_of_seconds && known.get(&job.id) != Some(&job.schedule);
            if is_of_seconds {
                self.of_seconds.insert(job.id, job.schedule.clone());
            }
            if is_ours && !is_new {
                let due = schedule.list_due(from, now, MAX_MISSED_RUNS).into_iter();
                self.waiting.extend(due.map(|at| DueRun { job: job.clone(), at }));
            }
        }
        self.start_waiting();
        Ok(())
    }

    /// Completes when a job ends; never if none runs.
    pub(super) async fn wait_for_end(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok(id)) => {
                self.running.remove(&id);
            }
            // A task that panicked has no id: no job may be blocked by it.
            Some(Err(_)) => self.running.clear(),
            None => std::future::pending().await,
        }
        self.start_waiting();
    }

    /// Deletes the history of runs that are too old.
    pub(super) async fn delete_old_runs(&self) -> Result<(), sqlx::Error> {
        const DELETE: &str = "DELETE FROM cron.job_run_details WHERE end_time < $1 - make_interval(days => $2)
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron' AND extversion <> 'basalt')";
        let outcome = sqlx::query(DELETE).bind(self.clock.now()).bind(HISTORY_DAYS).execute(&self.pool).await;
        outcome.map(drop)
    }

    async fn list_jobs(&self) -> Result<Vec<Job>, sqlx::Error> {
        const LIST: &str = "SELECT jobid, schedule, command, database, username FROM cron.job
            WHERE active AND NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron' AND extversion <> 'basalt')
            ORDER BY jobid LIMIT 10000";
        let rows = match sqlx::raw_sql(LIST).fetch_all(&self.pool).await {
            Err(error) if is_missing_table(&error) => return Ok(Vec::new()),
            rows => rows?,
        };
        let read = |row: &sqlx::postgres::PgRow| {
            Ok(Job {
                id: row.try_get(0)?,
                schedule: row.try_get(1)?,
                command: row.try_get(2)?,
                database: row.try_get(3)?,
                username: row.try_get(4)?,
            })
        };
        rows.iter().map(read).collect()
    }

    fn start_waiting(&mut self) {
        let mut kept = Vec::new();
        for due in std::mem::take(&mut self.waiting) {
            if self.running.len() >= MAX_RUNNING || !self.running.insert(due.job.id) {
                kept.push(due);
                continue;
            }
            let (pool, url, clock) = (self.pool.clone(), self.url.clone(), self.clock.clone());
            self.tasks.spawn(async move {
                let id = due.job.id;
                if let Err(error) = run_job(&pool, &url, &clock, &due).await {
                    tracing::warn!(job.id = id, error = %error, "the run of a job was not recorded");
                }
                id
            });
        }
        self.waiting = kept;
        // A job that takes longer than its interval does not fill the memory.
        let excess = self.waiting.len().saturating_sub(MAX_RUNNING * MAX_MISSED_RUNS);
        self.waiting.drain(..excess);
    }
}

/// Runs a job and records how it ended.
async fn run_job(pool: &PgPool, url: &str, clock: &SharedClock, due: &DueRun) -> Result<(), sqlx::Error> {
    const BEGIN: &str = "INSERT INTO cron.job_run_details (jobid, database, username, command, status, start_time)
        VALUES ($1, $2, $3, $4, 'running', $5) RETURNING runid";
    const END: &str = "UPDATE cron.job_run_details SET status = $2, return_message = $3, end_time = $4, job_pid = $5
        WHERE runid = $1";
    let DueRun { job, at } = due;
    let begin = sqlx::query_scalar(BEGIN).bind(job.id).bind(&job.database).bind(&job.username).bind(&job.command);
    let run: i64 = begin.bind(at).fetch_one(pool).await?;
    let outcome = execute(url, job).await;
    let (status, message, process) = match outcome {
        Ok(Outcome { rows, affected, process }) => {
            let message = if rows > 0 { format!("{rows} rows") } else { format!("{affected} rows affected") };
            ("succeeded", message, Some(process))
        }
        Err(error) => match error.as_database_error() {
            Some(error) => ("failed", format!("ERROR: {}", error.message()), None),
            None => ("failed", "connection failed".to_owned(), None),
        },
    };
    sqlx::query(END).bind(run).bind(status).bind(message).bind(clock.now()).bind(process).execute(pool).await.map(drop)
}

/// How a command ended.
struct Outcome {
    rows: u64,
    affected: u64,
    process: i32,
}

/// Runs the command of a job as its role.
async fn execute(url: &str, job: &Job) -> Result<Outcome, sqlx::Error> {
    // A role that is no superuser runs its command in a function that it owns: there the command cannot become another
    // role, as it could after SET ROLE.
    const FUNCTION: &str = "DO $basalt$ BEGIN
        EXECUTE 'CREATE FUNCTION pg_temp.run_job(command text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS '
            || quote_literal('BEGIN EXECUTE command; END');
        EXECUTE format('ALTER FUNCTION pg_temp.run_job(text) OWNER TO %I', current_setting('basalt.job_role'));
        END $basalt$";
    // A job of a migration was scheduled in the database that the one of a test world was copied from.
    let url = if job.database == MIGRATED_DATABASE { url.to_owned() } else { with_database(url, &job.database) };
    let mut connection = PgConnection::connect(&url).await?;
    connection.execute("SET statement_timeout = 0; SET application_name = 'pg_cron'").await?;
    let read = "SELECT pg_catalog.pg_backend_pid(),
        coalesce((SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = $1), false),
        set_config('basalt.job_role', $1, false)";
    let row = sqlx::query(read).bind(&job.username).fetch_one(&mut connection).await?;
    let (process, is_superuser): (i32, bool) = (row.try_get(0)?, row.try_get(1)?);
    let mut outcome = Outcome { rows: 0, affected: 0, process };
    if is_superuser {
        let command = AssertSqlSafe(job.command.clone());
        let mut results = sqlx::raw_sql(command).fetch_many(&mut connection);
        while let Some(result) = results.try_next().await? {
            match result {
                Either::Left(done) => outcome.affected = done.rows_affected(),
                Either::Right(_) => outcome.rows += 1,
            }
        }
        drop(results);
    } else {
        connection.execute(FUNCTION).await?;
        sqlx::query("SELECT pg_temp.run_job($1)").bind(&job.command).execute(&mut connection).await?;
        outcome.rows = 1;
    }
    connection.close().await?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use chrono::TimeDelta;
    use platform::testing::FakeClock;
    use sqlx::postgres::PgPoolOptions;

    use super::*;

    #[tokio::test]
    async fn next_turn_is_at_once_after_the_clock_was_moved() {
        let url = "postgres://nobody@127.0.0.1:9/none";
        let pool = PgPoolOptions::new().connect_lazy(url).expect("a URL");
        let start = "2030-01-01T10:10:20Z".parse().expect("a time");
        let clock = FakeClock::at(start);
        let mut jobs = CronJobs::new(pool, url.to_owned(), Arc::new(clock.clone()), start);
        assert_eq!(jobs.next_turn(), Duration::from_secs(40));
        jobs.of_seconds.insert(1, "1 second".to_owned());
        assert_eq!(jobs.next_turn(), Duration::from_secs(1));
        // The move came while something else was done: what has become due by it must not wait for another minute.
        clock.advance(TimeDelta::hours(2));
        assert_eq!(jobs.next_turn(), Duration::ZERO);
        clock.advance(TimeDelta::hours(-9));
        assert_eq!(jobs.next_turn(), Duration::from_secs(1));
    }
}
