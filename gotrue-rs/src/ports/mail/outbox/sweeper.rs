//! Forgets what is over: mails that arrived long ago, and limits that nobody uses any more. Needed with and without a mail
//! server: the development inbox grows too.

use chrono::TimeDelta;
use futures::FutureExt;
use futures::future::{Either, select};
use gotrue_rules::domain::user::Time;

use crate::ports::clock::SharedClock;
use crate::store::outbox::{self, Table};

/// How often there is something to forget.
const EVERY: TimeDelta = TimeDelta::hours(1);

/// Forgets old mails, once an hour.
pub struct Sweeper {
    table: Table,
    clock: SharedClock,
    /// How long mails that arrived are remembered.
    keep: TimeDelta,
    /// When it last succeeded.
    swept: Option<Time>,
}

impl std::fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweeper").field("keep", &self.keep).field("swept", &self.swept).finish_non_exhaustive()
    }
}

impl Sweeper {
    /// Has swept nothing yet.
    pub(super) fn new(table: &Table, clock: &SharedClock, keep: TimeDelta) -> Self {
        Self { table: table.clone(), clock: SharedClock::clone(clock), keep, swept: None }
    }

    /// Sweeps until `stop` completes, for an outbox that no worker empties.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop.fuse());
        loop {
            self.sweep().await;
            let pause = self.clock.sleep(EVERY.to_std().unwrap_or_default());
            if let Either::Left(_) = select(stop.as_mut(), pause).await {
                return;
            }
        }
    }

    /// Sweeps unless it has done so within the hour. What fails is tried again with the next call.
    pub async fn sweep(&mut self) {
        let now = self.clock.now();
        if self.swept.is_some_and(|last| now - last < EVERY) {
            return;
        }
        match outbox::sweep(&mut self.table.connection(), now - self.keep, now).await {
            Ok(_) => self.swept = Some(now),
            Err(error) => tracing::warn!(%error, "old mails could not be forgotten; this is tried again"),
        }
    }
}
