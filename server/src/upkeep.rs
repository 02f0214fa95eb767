//! What keeps the database in shape beside the requests: old rows go, indexes are made. Nothing waits for it but the end.

use std::sync::Arc;

use gotrue_rs::app::App;
use gotrue_rs::services::cleanup;
use gotrue_rs::store::migrate::{self, Indexes};
use tokio::task::JoinHandle;

use crate::listen::Closing;

/// Starts it; the task ends soon after `closing` says so.
pub fn start(app: Arc<App>, closing: Closing) -> JoinHandle<()> {
    tokio::spawn(async move {
        tokio::join!(indexes(&app, closed(closing.clone())), cleanup::run(Arc::clone(&app), closed(closing)));
    })
}

async fn closed(mut closing: Closing) {
    drop(closing.wait_for(|closing| *closing).await);
}

/// An index that is broken off at the end is made anew at the next start.
async fn indexes(app: &App, closed: impl Future<Output = ()>) {
    let options = app.pool.connections().connect_options();
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
