//! Background work that SQL of a project asks for: scheduled jobs (`cron`) and HTTP requests (`net`, webhooks).
//!
//! It is done where the extensions `pg_cron` and `pg_net` are not installed, by one server of a database at a time.

mod cron;
mod missing_table;
mod requests;
mod schedule;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chrono::{DateTime, Utc};
use foundation::error_chain::ErrorChain;
use http_edge::ShutdownSignal;
use platform::clock::SharedClock;
use platform::http_client::HttpClient;
use platform::store::leases::JobLease;
use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::task::JoinHandle;

use self::cron::CronJobs;
use self::missing_table::is_missing_table;
use self::requests::RequestQueue;
pub use self::requests::RequestTargets;

/// The channel on which the functions of `cron` and `net` announce work.
const CHANNEL: &str = "basalt_database_jobs";
/// The largest number of connections, beside those of running jobs.
const CONNECTIONS: u32 = 4;
/// The pause after a failure of the database.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// The interval between deletions of what is too old.
const CLEANUP_INTERVAL: chrono::Duration = chrono::Duration::hours(1);
/// How long messages of `realtime.messages` are kept, in hours.
const MESSAGE_HOURS: i32 = 72;

/// What the background work needs.
pub struct DatabaseJobs {
    /// The URL of a superuser.
    pub url: String,
    /// Sends the requests.
    pub http: Arc<HttpClient>,
    /// The clock of the schedules.
    pub clock: SharedClock,
    /// Where requests may go.
    pub targets: RequestTargets,
    /// Which server runs the jobs, if several may use the database.
    pub lease: Option<JobLease>,
}

impl DatabaseJobs {
    /// Starts the work, which ends on shutdown.
    ///
    /// Jobs that are due from now on are run, even if the connection takes its time.
    pub fn start(self, closing: ShutdownSignal) -> JoinHandle<()> {
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS).min_connections(0).connect_lazy(&self.url);
        let until = self.clock.now();
        http_edge::spawn_task(async move {
            match pool {
                Ok(pool) => self.run(&pool, until, closing).await,
                Err(error) => {
                    tracing::warn!(error = %ErrorChain(&error), "background work of the database cannot start");
                }
            }
        })
    }

    async fn run(self, pool: &PgPool, until: DateTime<Utc>, mut closing: ShutdownSignal) {
        // Runs that are due and those in progress outlive a failure of the database.
        let mut jobs = CronJobs::new(pool.clone(), self.url.clone(), self.clock.clone(), until);
        loop {
            let mut stop = closing.clone();
            let outcome = tokio::select! {
                _ = stop.wait_for(|closing| *closing) => break,
                outcome = self.work(pool, &mut jobs) => outcome,
            };
            if let Err(error) = outcome {
                tracing::warn!(error = %ErrorChain(error.as_ref()), "background work of the database was interrupted");
            }
            tokio::select! {
                _ = closing.wait_for(|closing| *closing) => break,
                () = tokio::time::sleep(RETRY_PAUSE) => {}
            }
        }
        if let Some(lease) = &self.lease {
            drop(lease.release().await);
        }
    }

    /// Works until the database fails.
    async fn work(&self, pool: &PgPool, jobs: &mut CronJobs) -> anyhow::Result<()> {
        let queue = RequestQueue {
            pool: pool.clone(),
            http: Arc::clone(&self.http),
            clock: self.clock.clone(),
            targets: Arc::new(self.targets.clone()),
        };
        let mut listener = PgListener::connect_with(pool).await.context("listening for background work")?;
        listener.listen(CHANNEL).await.context("listening for background work")?;
        ignore_missing(jobs.end_interrupted().await).context("ending interrupted jobs")?;
        self.run_due(jobs).await?;
        let sending = send_when_woken(&queue, tokio::sync::Notify::new());
        let (wake, sending) = sending;
        let mut sending = std::pin::pin!(sending);
        wake.notify_one();
        let mut cleaned_at = self.clock.now();
        loop {
            tokio::select! {
                outcome = &mut sending => outcome.context("sending requests of the database")?,
                notification = listener.recv() => {
                    let payload = notification.context("listening for background work")?.payload().to_owned();
                    if payload == "net" {
                        wake.notify_one();
                    } else {
                        // A job of seconds shortens the pause.
                        self.run_due(jobs).await?;
                    }
                }
                () = self.clock.sleep(jobs.next_turn()) => {
                    self.run_due(jobs).await?;
                    wake.notify_one();
                }
                () = jobs.wait_for_end() => {}
            }
            if self.clock.now() - cleaned_at >= CLEANUP_INTERVAL {
                cleaned_at = self.clock.now();
                ignore_missing(jobs.delete_old_runs().await).context("deleting old runs")?;
                ignore_missing(queue.delete_old_responses().await).context("deleting old responses")?;
                ignore_missing(self.delete_old_messages(pool).await).context("deleting old messages")?;
            }
        }
    }

    async fn run_due(&self, jobs: &mut CronJobs) -> anyhow::Result<()> {
        let is_ours = match &self.lease {
            Some(lease) => lease.acquire().await.context("acquiring the lease of the jobs")?,
            None => true,
        };
        jobs.run_due(is_ours).await.context("reading the jobs")
    }

    async fn delete_old_messages(&self, pool: &PgPool) -> Result<(), sqlx::Error> {
        const DELETE: &str = "DELETE FROM realtime.messages WHERE inserted_at < $1 - make_interval(hours => $2)";
        sqlx::query(DELETE).bind(self.clock.now().naive_utc()).bind(MESSAGE_HOURS).execute(pool).await.map(drop)
    }
}

/// Sends the requests of the queue each time that it is woken.
fn send_when_woken(
    queue: &RequestQueue,
    wake: tokio::sync::Notify,
) -> (Arc<tokio::sync::Notify>, impl Future<Output = Result<(), sqlx::Error>> + use<'_>) {
    let wake = Arc::new(wake);
    let waiting = Arc::clone(&wake);
    let send = async move {
        loop {
            waiting.notified().await;
            queue.send_all().await?;
        }
    };
    (wake, send)
}

/// A project may have dropped the schema.
fn ignore_missing(outcome: Result<(), sqlx::Error>) -> Result<(), sqlx::Error> {
    match outcome {
        Err(error) if is_missing_table(&error) => Ok(()),
        outcome => outcome,
    }
}
