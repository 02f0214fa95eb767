//! The periodic jobs of one replica: daily digest, and deletion of submissions beyond their retention.

use std::sync::Arc;
use std::time::Duration;

use chrono::{Days, NaiveTime, TimeDelta};
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::journal::Journal;
use platform::mail::outbox::Outbox;
use platform::store::leases::JobLease;
use platform::store::{Connection, Pool, Result};

use super::daily_digest::build_daily_digest;
use super::store;
use crate::functions::send_submission::SubmissionSettings;
use crate::functions::send_submission::mails::MailContext;
use crate::periodic_job::PeriodicJob;
use crate::submissions::changes;

/// How often the jobs look for what is due.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// The number of submissions that one statement deletes.
const BATCH: i64 = 200;
/// The maximum number of such statements in a turn.
const MAX_BATCHES: usize = 50;

/// Which jobs run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Whether the owner gets a digest of each day.
    pub has_daily_digest: bool,
    /// The age at which submissions are deleted; `None` keeps them.
    pub submissions: Option<Duration>,
}

/// Runs the periodic jobs.
///
/// Several servers may run them: a lease chooses one, and what it does is safe without it.
#[derive(Debug)]
pub struct SubmissionUpkeep {
    pool: Pool,
    outbox: Arc<Outbox>,
    settings: SubmissionSettings,
    retention: Retention,
    lease: Option<JobLease>,
    clock: SharedClock,
    entropy: Entropy,
}

impl SubmissionUpkeep {
    /// Creates the jobs for the submissions in this database; mails go to `outbox`.
    pub fn new(
        pool: Pool,
        outbox: Arc<Outbox>,
        settings: SubmissionSettings,
        clock: SharedClock,
        entropy: Entropy,
    ) -> Self {
        Self { pool, outbox, settings, retention: Retention::default(), lease: None, clock, entropy }
    }

    /// Enables these jobs.
    #[must_use]
    pub fn with_retention(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    /// Runs only while this replica holds the lease.
    #[must_use]
    pub fn with_lease(self, lease: Option<JobLease>) -> Self {
        Self { lease, ..self }
    }

    /// Runs the jobs until `stop` completes; returns at once if none is enabled. Failures are retried.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        if self.retention == Retention::default() {
            return;
        }
        let job = PeriodicJob { name: "submissions", interval: CHECK_INTERVAL, clock: &self.clock };
        job.run(stop, || self.run_due()).await;
    }

    /// Does what is due, if this replica holds the lease.
    ///
    /// # Errors
    /// A statement failed; the rest is done in the next turn.
    pub async fn run_due(&self) -> Result<()> {
        if let Some(lease) = &self.lease
            && !lease.acquire().await?
        {
            return Ok(());
        }
        self.write_daily_digest().await?;
        self.delete_expired().await.map(drop)
    }

    /// Writes the digest of yesterday, unless it is written.
    async fn write_daily_digest(&self) -> Result<()> {
        let (true, Some(owner)) = (self.retention.has_daily_digest, &self.settings.owner) else { return Ok(()) };
        let now = self.clock.now();
        let midnight = now.date_naive().and_time(NaiveTime::MIN).and_utc();
        let Some(from) = midnight.checked_sub_days(Days::new(1)) else { return Ok(()) };
        let mut db = Connection::begin(&self.pool, Arc::new(Journal::default())).await?;
        if !store::begin_digest(&mut db, from, now).await? {
            return db.rollback().await;
        }
        let figures = store::count_day(&mut db, from, midnight).await?;
        let SubmissionSettings { shop, brand, host, .. } = &self.settings;
        let context = MailContext { id: self.entropy.uuid(), now, shop, brand, host };
        if let Some(mail) = build_daily_digest(context, owner, from.date_naive(), figures) {
            self.outbox.enqueue(&mut db, &mail).await?;
        }
        db.commit().await
    }

    /// Deletes submissions beyond their retention; returns their number.
    async fn delete_expired(&self) -> Result<u64> {
        let age = self.retention.submissions.and_then(|age| TimeDelta::from_std(age).ok());
        let Some(cutoff) = age.and_then(|age| self.clock.now().checked_sub_signed(age)) else { return Ok(0) };
        let mut deleted = 0;
        for _ in 0..MAX_BATCHES {
            let mut db = Connection::pooled(self.pool.clone(), Arc::new(Journal::default()));
            let ids = store::list_expired(&mut db, cutoff, BATCH).await?;
            if ids.is_empty() {
                break;
            }
            deleted += changes::delete(&mut db, &ids).await?;
        }
        if deleted > 0 {
            tracing::info!(deleted, "deleted submissions beyond their retention");
        }
        Ok(deleted)
    }
}
