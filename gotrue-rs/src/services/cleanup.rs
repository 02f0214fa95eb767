//! Deletes expired rows in the background after writes.
//!
//! One kind of rows follows the other, in small batches, on one connection, with a pause as long as each batch took. No
//! request waits for it.

use std::sync::Arc;
use std::time::Duration;

use foundation::error_chain::ErrorChain;
use futures::FutureExt;
use futures::future::{Either, select};
use gotrue_rules::domain::policy::Policy;
use platform::store::Connection;
use platform::store::leases::JobLease;
use telemetry::catalog::CLEANUP_ROWS;
use telemetry::jobs::JobRun;

use crate::app::App;
use crate::store::cleanup::{
    ANONYMOUS_USERS, CleanupTask, DECOYS, delete_audit_entries, inactivity_tasks, run_task, timebox_task,
    unconditional_tasks,
};

/// The pause after a batch that found no further rows.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// The pause after which a replica without the lease tries again, if there was a write.
const LEASE_RETRY_PAUSE: Duration = Duration::from_secs(2);
/// The longest time of deleting audit entries before the other kinds have their turn.
const AUDIT_TURN: Duration = Duration::from_secs(1);
/// The interval between rounds through all audit entries is this part of their age, within the limits.
const AUDIT_ROUNDS_PER_AGE: u32 = 24;
const MIN_AUDIT_INTERVAL: Duration = Duration::from_hours(1);
const MAX_AUDIT_INTERVAL: Duration = Duration::from_hours(24);

/// A kind of rows.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Rows that an index or a short scan finds.
    Rows(CleanupTask),
    /// Audit entries of this age, found by reading the table in parts.
    AuditEntries(Duration),
}

/// Runs until `stop` completes.
///
/// Each run starts after a write; a write signalled earlier counts. Returns at once if the policy disables the
/// clean-up.
pub async fn run(app: Arc<App>, stop: impl Future<Output = ()>) {
    run_with_lease(app, None, stop).await;
}

/// The same, but deletes only while this replica holds the lease, if there is one.
pub async fn run_with_lease(app: Arc<App>, lease: Option<JobLease>, stop: impl Future<Output = ()>) {
    if !app.policy.operation.cleanup_enabled {
        return;
    }
    let kinds = enabled_kinds(&app.policy);
    let mut stop = std::pin::pin!(stop.fuse());
    loop {
        let wrote = std::pin::pin!(app.cleanup_signal.notified());
        if let Either::Right(_) = select(wrote, stop.as_mut()).await {
            return;
        }
        let rest = match &lease {
            Some(lease) if !acquire(lease).await => LEASE_RETRY_PAUSE,
            _ => match kinds[app.cleanup_signal.kind_index() % kinds.len()] {
                Kind::Rows(task) => run_batch(&app, task).await,
                Kind::AuditEntries(age) => run_audit_turn(&app, age).await,
            },
        };
        if let Either::Left(_) = select(stop.as_mut(), app.clock.timeout(rest)).await {
            return;
        }
    }
}

/// Returns whether this replica holds the lease; not while the database does not answer.
async fn acquire(lease: &JobLease) -> bool {
    match lease.acquire().await {
        Ok(is_holder) => is_holder,
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "the lease of the clean-up could not be acquired");
            false
        }
    }
}

/// The enabled kinds, in the order in which they run.
fn enabled_kinds(policy: &Policy) -> Vec<Kind> {
    let anonymous = policy.sign_up.anonymous_enabled && !policy.operation.should_cleanup_keep_anonymous;
    let retention = policy.operation.retention;
    let mut kinds = unconditional_tasks(&retention).to_vec();
    kinds.extend(anonymous.then_some(ANONYMOUS_USERS));
    kinds.extend(policy.security.is_equal_work_enabled.then_some(DECOYS));
    kinds.extend(policy.sessions.timebox.map(timebox_task));
    kinds.extend(policy.sessions.inactivity_timeout.into_iter().flat_map(inactivity_tasks));
    kinds.into_iter().map(Kind::Rows).chain(retention.audit_entries.map(Kind::AuditEntries)).collect()
}

/// Deletes one batch and returns the pause to make.
///
/// If rows remain, the same kind runs again without a new write.
async fn run_batch(app: &App, task: CleanupTask) -> Duration {
    let started = app.clock.now();
    let mut db = Connection::pooled(app.pool.clone(), Arc::default()).with_long_statements();
    let outcome = run_task(&mut db, task, started).await;
    let ended = app.clock.now();
    let duration = (ended - started).to_std().unwrap_or_default();
    JobRun { job: "cleanup", is_successful: outcome.is_ok(), duration, ended: ended.timestamp() }.record();
    match outcome {
        Ok(rows) => {
            if rows > 0 {
                CLEANUP_ROWS.add(&[task.name()], rows);
                tracing::debug!(kind = task.name(), rows, "expired rows deleted");
            }
            if rows < task.batch_size {
                app.cleanup_signal.advance();
                return IDLE_PAUSE;
            }
            app.cleanup_signal.notify();
            (app.clock.now() - started).to_std().unwrap_or_default()
        }
        Err(error) => {
            tracing::warn!(kind = task.name(), error = %ErrorChain(&error), "expired rows not deleted, retry after the next write");
            app.cleanup_signal.advance();
            IDLE_PAUSE
        }
    }
}

/// Deletes old audit entries for at most [`AUDIT_TURN`]; returns the pause to make.
async fn run_audit_turn(app: &App, age: Duration) -> Duration {
    let started = app.clock.now();
    let cutoff = chrono::TimeDelta::from_std(age).ok().and_then(|age| started.checked_sub_signed(age));
    let mut page = app.cleanup_signal.audit_page(started.timestamp());
    let (mut rows, mut outcome) = (0, Ok(()));
    while let (Some(first), Some(cutoff)) = (page, cutoff) {
        let mut db = Connection::pooled(app.pool.clone(), Arc::default()).with_long_statements();
        match delete_audit_entries(&mut db, cutoff, first).await {
            Ok(batch) => {
                rows += batch.rows;
                page = batch.next_page;
                let interval = (age / AUDIT_ROUNDS_PER_AGE).clamp(MIN_AUDIT_INTERVAL, MAX_AUDIT_INTERVAL);
                app.cleanup_signal.record_audit_page(page, started.timestamp() + interval.as_secs().cast_signed());
            }
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), "old audit entries not deleted, retry after the next write");
                outcome = Err(());
                break;
            }
        }
        if (app.clock.now() - started).to_std().is_ok_and(|spent| spent >= AUDIT_TURN) {
            // More pages remain: the next turn needs no further write.
            app.cleanup_signal.notify();
            break;
        }
    }
    if rows > 0 {
        CLEANUP_ROWS.add(&["cleanup.audit_entries"], rows);
        tracing::debug!(kind = "cleanup.audit_entries", rows, "expired rows deleted");
    }
    let ended = app.clock.now();
    let duration = (ended - started).to_std().unwrap_or_default();
    JobRun { job: "audit_retention", is_successful: outcome.is_ok(), duration, ended: ended.timestamp() }.record();
    app.cleanup_signal.advance();
    IDLE_PAUSE
}
