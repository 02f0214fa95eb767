//! Maintenance in the background: expired rows, indexes, connections, and changes of the clock.

use std::sync::Arc;
use std::time::Duration;

use foundation::error_chain::ErrorChain;
use gotrue_rs::app::App;
use gotrue_rs::services::cleanup;
use gotrue_rs::store::migrate::{self, IndexOutcome};
use platform::store::leases::JobLease;
use telemetry::jobs::JobRun;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::clock_steps;
use http_edge::ShutdownSignal;

/// The time after which indexes that another server was creating are looked at again.
const INDEX_RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// The leases of the maintenance: one of several servers does it.
#[derive(Debug)]
pub(crate) struct JobLeases {
    /// Of the deletion of expired rows.
    pub cleanup: JobLease,
    /// Of the creation of indexes.
    pub indexes: JobLease,
    /// Of the daily digest and the deletion of submissions.
    pub submissions: JobLease,
}

/// Starts the maintenance of the application in `current`.
/// It restarts when the application is replaced. The task ends soon after `closing` is true. With leases, only the
/// replica that holds one does its job.
pub(crate) fn start(
    current: watch::Receiver<Arc<App>>,
    leases: Option<JobLeases>,
    closing: ShutdownSignal,
) -> JoinHandle<()> {
    let (cleanup, indexes) = leases.map(|leases| (leases.cleanup, leases.indexes)).unzip();
    http_edge::spawn_task(async move {
        let connections = maintain_connections(Arc::clone(&current.borrow()), closing.clone());
        let watch_clock = watch_clock(closing.clone());
        tokio::join!(
            maintain_indexes(current.clone(), indexes, closing.clone()),
            clean_up(current, cleanup, closing),
            connections,
            watch_clock
        );
    })
}

/// Reports changes of the system clock until shutdown.
async fn watch_clock(closing: ShutdownSignal) {
    tokio::select! {
        () = wait_for_shutdown(closing) => {}
        () = clock_steps::watch() => {}
    }
}

/// Tests idle connections, and measures the lag of the replica if there is one, until shutdown.
///
/// Pool and replica stay when the application is replaced.
async fn maintain_connections(app: Arc<App>, closing: ShutdownSignal) {
    let test = async {
        tokio::select! {
            () = wait_for_shutdown(closing.clone()) => {}
            () = app.pool.test_while_idle() => {}
        }
    };
    let monitor = async {
        if let Some(replica) = &app.replica {
            replica.monitor(&app.pool, wait_for_shutdown(closing.clone())).await;
        }
    };
    tokio::join!(test, monitor);
}

/// Starts the maintenance of a database that has all indexes.
pub(crate) fn start_with_indexes(current: watch::Receiver<Arc<App>>, closing: ShutdownSignal) -> JoinHandle<()> {
    http_edge::spawn_task(clean_up(current, None, closing))
}

async fn clean_up(mut current: watch::Receiver<Arc<App>>, lease: Option<JobLease>, closing: ShutdownSignal) {
    while !*closing.borrow() {
        let app = Arc::clone(&current.borrow_and_update());
        let over = wait_for_replacement(&mut current, closing.clone());
        if app.policy.operation.cleanup_enabled {
            cleanup::run_with_lease(app, lease.clone(), over).await;
        } else {
            over.await;
        }
    }
}

async fn maintain_indexes(mut current: watch::Receiver<Arc<App>>, lease: Option<JobLease>, closing: ShutdownSignal) {
    while !*closing.borrow() {
        let app = Arc::clone(&current.borrow_and_update());
        let is_finished = tokio::select! {
            () = wait_for_shutdown(closing.clone()) => return,
            is_finished = create_indexes(&app, lease.as_ref()) => is_finished,
        };
        let replaced = wait_for_replacement(&mut current, closing.clone());
        if is_finished {
            replaced.await;
        } else {
            // The other server may end before it has created them.
            drop(tokio::time::timeout(INDEX_RETRY_INTERVAL, replaced).await);
        }
    }
}

/// Completes when the application is replaced, or on shutdown.
async fn wait_for_replacement(current: &mut watch::Receiver<Arc<App>>, closing: ShutdownSignal) {
    let replaced = async {
        if current.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = wait_for_shutdown(closing) => {}
        () = replaced => {}
    }
}

async fn wait_for_shutdown(mut closing: ShutdownSignal) {
    drop(closing.wait_for(|closing| *closing).await);
}

/// Creates the indexes, unless another server does; returns whether there is nothing left to try.
///
/// An index interrupted by shutdown is created again at the next start.
async fn create_indexes(app: &App, lease: Option<&JobLease>) -> bool {
    let started = app.clock.now();
    let outcome = migrate::create_indexes(&app.pool, &app.policy.operation.index_worker, lease).await;
    let ended = app.clock.now();
    let duration = (ended - started).to_std().unwrap_or_default();
    JobRun { job: "indexes", is_successful: outcome.is_ok(), duration, ended: ended.timestamp() }.record();
    let is_finished = !matches!(outcome, Ok(IndexOutcome::InProgress));
    match outcome {
        Ok(IndexOutcome::Disabled) => {}
        Ok(IndexOutcome::Present) => tracing::debug!("account search indexes exist"),
        Ok(IndexOutcome::Created(names)) => tracing::info!(?names, "created the account search indexes"),
        Ok(IndexOutcome::InProgress) => tracing::info!("another server creates the account search indexes"),
        Ok(IndexOutcome::TooManyAccounts(accounts)) => {
            tracing::info!(accounts, "account search indexes not created: more accounts than the configured threshold");
        }
        Ok(IndexOutcome::Unsupported) => {
            tracing::info!("account search indexes not created: OrioleDB cannot create them without locking the table");
        }
        Err(error) => tracing::error!(error = %ErrorChain(&error), "creating the account search indexes failed"),
    }
    is_finished
}
