//! Deletes old sent mails and unused rate-limit buckets of the database.
//!
//! Runs with and without a mail server, because the development inbox grows, too.

use chrono::TimeDelta;
use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use futures::FutureExt;
use futures::future::{Either, select};
use telemetry::jobs::JobRun;

use crate::clock::SharedClock;
use crate::store::outbox::{self, OutboxTable};

/// The interval of deletions.
const INTERVAL: TimeDelta = TimeDelta::hours(1);

/// Deletes old mails once an hour.
pub struct OutboxCleanup {
    table: OutboxTable,
    clock: SharedClock,
    /// How long sent mails are kept.
    retention: TimeDelta,
    /// The time of the last success.
    last_run: Option<Time>,
}

impl std::fmt::Debug for OutboxCleanup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutboxCleanup")
            .field("retention", &self.retention)
            .field("last_run", &self.last_run)
            .finish_non_exhaustive()
    }
}

impl OutboxCleanup {
    /// Creates a task that has not run yet.
    pub(super) fn new(table: &OutboxTable, clock: &SharedClock, retention: TimeDelta) -> Self {
        Self { table: table.clone(), clock: SharedClock::clone(clock), retention, last_run: None }
    }

    /// Waits an hour before the first deletion: for a new database, in which nothing is due.
    #[must_use]
    pub fn starting_later(self) -> Self {
        Self { last_run: Some(self.clock.now()), ..self }
    }

    /// Runs until `stop` completes, for an outbox without a worker.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop.fuse());
        loop {
            self.run_if_due().await;
            let pause = self.clock.sleep(INTERVAL.to_std().unwrap_or_default());
            if let Either::Left(_) = select(stop.as_mut(), pause).await {
                return;
            }
        }
    }

    /// Deletes old rows unless it did so within the hour. A failure is retried with the next call.
    pub async fn run_if_due(&mut self) {
        let now = self.clock.now();
        if self.last_run.is_some_and(|last| now - last < INTERVAL) {
            return;
        }
        let outcome = outbox::delete_expired(&mut self.table.connection(), now - self.retention, now).await;
        let ended = self.clock.now();
        let duration = (ended - now).to_std().unwrap_or_default();
        JobRun { job: "outbox_cleanup", is_successful: outcome.is_ok(), duration, ended: ended.timestamp() }.record();
        match outcome {
            Ok(_) => self.last_run = Some(now),
            Err(error) => tracing::warn!(error = %ErrorChain(&error), "deleting old mails failed, will retry"),
        }
    }
}
