//! The development inbox: mails written while no mail server is configured, read from the outbox.
//!
//! The edge authorizes access to it.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::select;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::ports::clock::SharedClock;
use crate::store::Result;
use crate::store::outbox::{self, OutboxTable};

pub use crate::store::outbox::InboxMail;

/// The maximum number of listed mails.
const MAX_LISTED: i64 = 200;
/// The interval of polling for mails written by other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A selection of mails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxQuery {
    /// Only mails to this address, case-insensitively.
    pub to: Option<String>,
    /// Only mails after the one with this id; none if the id is unknown.
    pub after: Option<Uuid>,
}

/// Reads the development inbox.
#[derive(Debug, Clone)]
pub struct Inbox {
    table: OutboxTable,
    clock: SharedClock,
    written: Arc<Notify>,
}

impl Inbox {
    /// Creates an inbox of that outbox; `written` signals new mails.
    pub(super) fn new(table: OutboxTable, clock: SharedClock, written: Arc<Notify>) -> Self {
        Self { table, clock, written }
    }

    /// Returns the newest mails first, at most 200.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn list(&self, query: &InboxQuery) -> Result<Vec<InboxMail>> {
        outbox::list_inbox(&mut self.table.connection(), query.to.as_deref(), query.after, MAX_LISTED).await
    }

    /// Returns one mail.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn get(&self, id: Uuid) -> Result<Option<InboxMail>> {
        outbox::find_inbox_mail(&mut self.table.connection(), id).await
    }

    /// Waits until [`Inbox::list`] returns a mail, at most `patience`. No connection is held while waiting.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn wait(&self, query: &InboxQuery, patience: Duration) -> Result<Vec<InboxMail>> {
        let end = self.clock.now() + TimeDelta::from_std(patience).unwrap_or(TimeDelta::days(1));
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            written.as_mut().enable();
            let found = self.list(query).await?;
            let left = (end - self.clock.now()).to_std().unwrap_or(Duration::ZERO);
            if !found.is_empty() || left.is_zero() {
                return Ok(found);
            }
            select(written, self.clock.sleep(left.min(POLL_INTERVAL))).await;
        }
    }
}
