//! A replica for reads that may be stale: lists that an administrator reads.
//!
//! The position of the primary in the write-ahead log is noted in intervals. Once the replica has replayed a position,
//! it has everything that was committed before that position was noted. No clocks of different machines are compared.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use telemetry::catalog::REPLICA_USED;
use tokio::time::sleep;

use super::error::Result;
use super::pool::Pool;
use super::replication::{find_replayed_position, find_written_position};
use super::statement::Connection;
use crate::journal::Journal;

/// The limits of the interval in which the lag is measured.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);
/// The number of noted positions that the replica has not replayed.
const MAX_POSITIONS: usize = 128;

/// A replica of the database, and what is known about its lag.
#[derive(Debug)]
pub struct Replica {
    pool: Pool,
    max_lag: Duration,
    state: Mutex<ReplicaState>,
}

#[derive(Debug, Default)]
struct ReplicaState {
    /// Everything committed before this is on the replica.
    complete_until: Option<Instant>,
    /// The end of the latest change by an administrator through this process.
    changed_at: Option<Instant>,
    /// Positions of the primary that the replica has not replayed, with the times at which they were noted.
    positions: VecDeque<(Instant, i64)>,
}

/// A running change by an administrator; its end is recorded when it is dropped.
#[derive(Debug)]
pub struct AdminChange(Arc<Replica>);

impl Replica {
    /// Creates a replica that is not used before its lag is known.
    pub fn new(pool: Pool, max_lag: Duration) -> Self {
        Self { pool, max_lag, state: Mutex::default() }
    }

    /// Returns the replica's connections if it is recent enough.
    ///
    /// It lags by at most the limit and has the latest change by an administrator.
    pub fn find_current(&self) -> Option<&Pool> {
        let state = self.lock();
        let complete_until = state.complete_until?;
        let has_changes = state.changed_at.is_none_or(|changed_at| changed_at < complete_until);
        (has_changes && complete_until.elapsed() <= self.max_lag).then_some(&self.pool)
    }

    /// Begins a change by an administrator. Reads after its end use the primary until the replica has it.
    pub fn begin_change(self: &Arc<Self>) -> AdminChange {
        AdminChange(Arc::clone(self))
    }

    /// Records that a statement failed on the replica; it is used again after the next measurement.
    pub fn record_failure(&self) {
        let mut state = self.lock();
        *state = ReplicaState { changed_at: state.changed_at, ..ReplicaState::default() };
    }

    /// Measures the lag in intervals until `stop` completes, then closes the replica's connections.
    pub async fn monitor(&self, primary: &Pool, stop: impl Future<Output = ()>) {
        let interval = (self.max_lag / 5).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
        let measuring = async {
            let (mut has_failed, mut was_recent) = (false, false);
            loop {
                let measured = self.measure(primary).await;
                if let Err(error) = &measured {
                    self.record_failure();
                    if !has_failed {
                        tracing::warn!(%error, "the lag of the replica cannot be measured, reads use the primary");
                    }
                }
                has_failed = measured.is_err();
                let is_recent = self.is_recent();
                REPLICA_USED.set(&[], f64::from(u8::from(is_recent)));
                if was_recent && !is_recent && !has_failed {
                    tracing::warn!("the replica lags by more than the limit, reads use the primary");
                }
                was_recent = is_recent;
                sleep(interval).await;
            }
        };
        tokio::select! {
            () = stop => {}
            () = measuring => {}
        }
        self.pool.close().await;
    }

    fn is_recent(&self) -> bool {
        self.lock().complete_until.is_some_and(|complete_until| complete_until.elapsed() <= self.max_lag)
    }

    async fn measure(&self, primary: &Pool) -> Result<()> {
        let noted_at = Instant::now();
        let journal = || Arc::new(Journal::default());
        let written = find_written_position(&mut Connection::pooled(primary.clone(), journal())).await?;
        self.lock().note(noted_at, written);
        let replayed = find_replayed_position(&mut Connection::pooled(self.pool.clone(), journal())).await?;
        self.lock().advance(replayed);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, ReplicaState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplicaState {
    fn note(&mut self, noted_at: Instant, written: i64) {
        // After a failover the positions of the former primary mean nothing.
        if self.positions.back().is_some_and(|(_, latest)| *latest > written) {
            self.positions.clear();
            self.complete_until = None;
        }
        if self.positions.len() == MAX_POSITIONS {
            self.positions.pop_front();
        }
        self.positions.push_back((noted_at, written));
    }

    fn advance(&mut self, replayed: Option<i64>) {
        let Some(replayed) = replayed else { return };
        while let Some((noted_at, _)) = self.positions.front().copied().filter(|(_, written)| *written <= replayed) {
            self.complete_until = Some(noted_at);
            self.positions.pop_front();
        }
    }
}

impl Drop for AdminChange {
    fn drop(&mut self) {
        self.0.lock().changed_at = Some(Instant::now());
    }
}
