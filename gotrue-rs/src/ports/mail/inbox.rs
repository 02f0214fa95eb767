//! The development inbox: what was mailed while no mail server is configured, read from the outbox. Who may look is the
//! server's to decide.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::{BoxFuture, select};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::ports::clock::SharedClock;
use crate::store::Result;
use crate::store::outbox::{self, Table};

pub use crate::store::outbox::Received;

/// The most mails that are listed at once.
const AT_MOST: i64 = 200;
/// How often to look for mails that another process wrote.
const LOOK: Duration = Duration::from_millis(500);

/// Which mails are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Those to this address, in any letter case.
    pub to: Option<String>,
    /// Those written after the mail with this id. Of an unknown id there is no after.
    pub after: Option<Uuid>,
}

/// Reads the inbox.
#[derive(Debug, Clone)]
pub struct Inbox {
    table: Table,
    clock: SharedClock,
    written: Arc<Notify>,
}

impl Inbox {
    /// The inbox in that table; `written` tells of new mails.
    pub(super) fn new(table: Table, clock: SharedClock, written: Arc<Notify>) -> Self {
        Self { table, clock, written }
    }

    /// The newest first, at most 200.
    ///
    /// # Errors
    /// The database refused or was lost.
    pub async fn list(&self, query: &Query) -> Result<Vec<Received>> {
        outbox::inbox(&mut self.table.connection(), query.to.as_deref(), query.after, AT_MOST).await
    }

    /// One mail.
    ///
    /// # Errors
    /// The database refused or was lost.
    pub async fn get(&self, id: Uuid) -> Result<Option<Received>> {
        outbox::received(&mut self.table.connection(), id).await
    }

    /// Completes when this process writes a mail after this call.
    pub fn arrival(&self) -> BoxFuture<'static, ()> {
        Box::pin(Arc::clone(&self.written).notified_owned())
    }

    /// The same as [`Inbox::list`] as soon as there is one, at the latest after `patience`. No connection is held meanwhile.
    ///
    /// # Errors
    /// The database refused or was lost.
    pub async fn wait(&self, query: &Query, patience: Duration) -> Result<Vec<Received>> {
        let end = self.clock.now() + TimeDelta::from_std(patience).unwrap_or(TimeDelta::days(1));
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            written.as_mut().enable();
            let found = self.list(query).await?;
            let left = (end - self.clock.now()).to_std().unwrap_or(Duration::ZERO);
            if !found.is_empty() || left.is_zero() {
                return Ok(found);
            }
            select(written, self.clock.sleep(left.min(LOOK))).await;
        }
    }
}
