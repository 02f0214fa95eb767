//! What keeps the database in shape beside the requests: old rows go, indexes are made. Nothing waits for it but the end.

use std::sync::Arc;

use gotrue_rs::app::App;
use gotrue_rs::services::cleanup;
use gotrue_rs::store::migrate::{self, Indexes};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use http_edge::Closing;

/// Starts it for the application that `current` holds, and anew for each that takes its place; the task ends soon after
/// `closing` says so.
pub fn start(current: watch::Receiver<Arc<App>>, closing: Closing) -> JoinHandle<()> {
    tokio::spawn(async move {
        tokio::join!(make_indexes(current.clone(), closing.clone()), clean_up(current, closing));
    })
}

async fn clean_up(mut current: watch::Receiver<Arc<App>>, closing: Closing) {
    while !*closing.borrow() {
        let app = Arc::clone(&current.borrow_and_update());
        let over = over(&mut current, closing.clone());
        if app.policy.operation.cleanup_enabled { cleanup::run(app, over).await } else { over.await }
    }
}

async fn make_indexes(mut current: watch::Receiver<Arc<App>>, closing: Closing) {
    while !*closing.borrow() {
        let app = Arc::clone(&current.borrow_and_update());
        indexes(&app, closed(closing.clone())).await;
        over(&mut current, closing.clone()).await;
    }
}

/// Completes when the application is another one, or at the end.
async fn over(current: &mut watch::Receiver<Arc<App>>, closing: Closing) {
    let replaced = async {
        if current.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = closed(closing) => {}
        () = replaced => {}
    }
}

async fn closed(mut closing: Closing) {
    drop(closing.wait_for(|closing| *closing).await);
}

/// An index that is broken off at the end is made anew at the next start.
async fn indexes(app: &App, closed: impl Future<Output = ()>) {
    let options = app.pool.connect_options().clone();
    let outcome = tokio::select! {
        () = closed => return,
        outcome = migrate::indexes(&options, &app.policy.operation.index_worker) => outcome,
    };
    match outcome {
        Ok(Indexes::NotWanted) => {}
        Ok(Indexes::There) => tracing::debug!("the indexes for searching accounts are there"),
        Ok(Indexes::Made(names)) => tracing::info!(?names, "made the indexes for searching accounts"),
        Ok(Indexes::Elsewhere) => tracing::info!("another server makes the indexes for searching accounts"),
        Ok(Indexes::TooManyAccounts(accounts)) => {
            tracing::info!(
                accounts,
                "no indexes for searching accounts: GOTRUE_INDEX_WORKER_MAX_USERS_THRESHOLD is less"
            );
        }
        Ok(Indexes::Unsupported) => {
            tracing::info!("no indexes for searching accounts: OrioleDB cannot make them without locking the table");
        }
        Err(error) => tracing::error!(%error, "the indexes for searching accounts could not be made"),
    }
}
