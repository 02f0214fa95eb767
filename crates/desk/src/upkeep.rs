//! What the desk does in the background: it writes views, and deletes what has expired.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use gotrue_rs::app::App;
use platform::store;
use platform::store::Connection;

use crate::device::KNOWN_DEVICE;
use crate::sign_in::ATTEMPT_WINDOW;
use crate::store::{catalogue, devices, events, files, sessions};
use crate::views::PageViews;

/// The interval of the writes of views.
const INTERVAL: Duration = Duration::from_mins(1);
/// Expired rows are deleted at every sixtieth write.
const CLEANUP_ROUNDS: u64 = 60;
/// How long the log of the desk is kept.
const LOG_KEPT: TimeDelta = TimeDelta::days(400);
/// How long an uploaded file is kept that no revision of the catalogue names.
const UNUSED_FILE_KEPT: TimeDelta = TimeDelta::days(1);

/// Runs until `stop` completes, and then writes the last views.
pub async fn maintain(app: Arc<App>, views: Arc<PageViews>, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    for round in 1_u64.. {
        let is_last = tokio::select! {
            () = &mut stop => true,
            () = app.clock.sleep(INTERVAL) => false,
        };
        let mut db = Connection::pooled(app.pool.clone(), Arc::default());
        report("writing the views of pages", views.flush(&mut db).await);
        if is_last {
            return;
        }
        if round % CLEANUP_ROUNDS == 0 {
            report("deleting expired sessions of the desk", delete_expired(&app, &mut db).await);
        }
    }
}

async fn delete_expired(app: &App, db: &mut Connection) -> store::Result<()> {
    let now = app.clock.now();
    sessions::delete_expired(db, now, now - ATTEMPT_WINDOW).await?;
    devices::delete_unused(db, now - KNOWN_DEVICE).await?;
    events::delete_old(db, now - LOG_KEPT).await?;
    delete_unused_files(app, now - UNUSED_FILE_KEPT).await
}

/// Deletes uploaded files that no revision names, while no revision is stored.
async fn delete_unused_files(app: &App, before: Time) -> store::Result<()> {
    let mut db = Connection::begin(&app.pool, Arc::default()).await?.with_long_statements();
    catalogue::lock(&mut db).await?;
    files::delete_unused(&mut db, before).await?;
    db.commit().await
}

fn report(what: &'static str, outcome: store::Result<()>) {
    if let Err(error) = outcome {
        tracing::warn!(what, error = %ErrorChain(&error), "a task of the desk failed, it is repeated");
    }
}
