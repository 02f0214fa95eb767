//! What tells the owner of submissions beyond the hourly limit: one mail with their number, an hour after the first of them.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures::FutureExt;
use futures::future::{Either, select};
use gotrue_rs::journal::Journal;
use gotrue_rs::ports::clock::SharedClock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::{Connection, Pool};

use super::mails::{Told, digest};
use super::{Settings, store};

/// How often it is looked whether a digest is due.
const EVERY: Duration = Duration::from_mins(1);
/// How long submissions are collected.
const COLLECTED: TimeDelta = TimeDelta::hours(1);

/// Writes digests. Several may run at once: each submission is in one digest.
#[derive(Debug)]
pub struct Digests {
    pool: Pool,
    outbox: Arc<Outbox>,
    settings: Settings,
    clock: SharedClock,
    entropy: Entropy,
}

impl Digests {
    /// Digests of the submissions in this database; their mails go to that outbox.
    pub fn new(pool: Pool, outbox: Arc<Outbox>, settings: Settings, clock: SharedClock, entropy: Entropy) -> Self {
        Self { pool, outbox, settings, clock, entropy }
    }

    /// Writes digests until `stop` completes. What fails is tried again.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop.fuse());
        loop {
            if let Err(error) = self.write_due().await {
                tracing::warn!(%error, "the digest of submissions could not be written; this is tried again");
            }
            if let Either::Left(_) = select(stop.as_mut(), self.clock.sleep(EVERY)).await {
                return;
            }
        }
    }

    /// Writes the digest if one is due; how many submissions it names.
    ///
    /// # Errors
    ///
    /// The database refused or was lost; then nothing is written.
    pub async fn write_due(&self) -> gotrue_rs::store::Result<u64> {
        let Some(owner) = &self.settings.owner else { return Ok(0) };
        let now = self.clock.now();
        let mut db = Connection::begin(&self.pool, Arc::new(Journal::default())).await?;
        let Some(collected) = store::announce_collected(&mut db, now - COLLECTED).await? else {
            db.rollback().await?;
            return Ok(0);
        };
        let Settings { shop, host, .. } = &self.settings;
        let told = Told { id: self.entropy.uuid(), now, shop, host };
        self.outbox.put(&mut db, &digest(told, owner, &collected, self.settings.limits.notices)).await?;
        db.commit().await?;
        Ok(collected.count)
    }
}
