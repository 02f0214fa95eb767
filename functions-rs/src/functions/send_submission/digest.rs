//! Digest mails about submissions beyond the hourly limit: one mail, an hour after the first of them.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::journal::Journal;
use platform::mail::outbox::Outbox;
use platform::store::{Connection, Pool};

use super::mails::{MailContext, build_digest};
use super::{SubmissionSettings, store};
use crate::periodic_job::PeriodicJob;

/// How often due digests are checked for.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// How long submissions are collected for a digest.
const COLLECTION_PERIOD: TimeDelta = TimeDelta::hours(1);

/// Writes digests.
/// Several instances may run concurrently: each submission is in one digest.
#[derive(Debug)]
pub struct DigestWriter {
    pool: Pool,
    outbox: Arc<Outbox>,
    settings: SubmissionSettings,
    clock: SharedClock,
    entropy: Entropy,
}

impl DigestWriter {
    /// Creates the task for the submissions in this database; its mails go to `outbox`.
    pub fn new(
        pool: Pool,
        outbox: Arc<Outbox>,
        settings: SubmissionSettings,
        clock: SharedClock,
        entropy: Entropy,
    ) -> Self {
        Self { pool, outbox, settings, clock, entropy }
    }

    /// Writes digests until `stop` completes.
    /// Failures are retried.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let job = PeriodicJob { name: "submission_digest", interval: CHECK_INTERVAL, clock: &self.clock };
        job.run(stop, || self.write_due()).await;
    }

    /// Writes the digest if one is due; returns the number of submissions in it.
    ///
    /// # Errors
    ///
    /// The transaction failed; nothing is written.
    pub async fn write_due(&self) -> platform::store::Result<u64> {
        let Some(owner) = &self.settings.owner else { return Ok(0) };
        let now = self.clock.now();
        let mut db = Connection::begin(&self.pool, Arc::new(Journal::default())).await?;
        let Some(collected) = store::mark_collected(&mut db, now - COLLECTION_PERIOD).await? else {
            db.rollback().await?;
            return Ok(0);
        };
        let SubmissionSettings { shop, brand, host, .. } = &self.settings;
        let reported = MailContext { id: self.entropy.uuid(), now, shop, brand, host };
        self.outbox.enqueue(&mut db, &build_digest(reported, owner, &collected, self.settings.limits.notices)).await?;
        db.commit().await?;
        Ok(collected.count)
    }
}
