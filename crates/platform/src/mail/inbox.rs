//! The development inbox: messages that are kept for readers, stored in the outbox's table.
//!
//! The edge authorizes access to it.

use std::sync::Arc;
use std::time::Duration;

use foundation::time::Time;
use futures::future::{Either, select};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::clock::SharedClock;
use crate::entropy::Entropy;
use crate::store::Result;
use crate::store::outbox::{self, OutboxTable};

pub use crate::store::outbox::{InboxMail, InboxQuery, MailState, MessageFilter, MessageRange, NewMessage};

/// The maximum number of listed mails.
const MAX_LISTED: i64 = 200;
/// The interval of polling for mails written by other processes.
pub const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The maximum number of kept mails of applications.
const MAX_KEPT_MAILS: i64 = 500;

/// Reads and writes the development inbox.
#[derive(Debug, Clone)]
pub struct Inbox {
    table: OutboxTable,
    clock: SharedClock,
    entropy: Arc<Entropy>,
    written: Arc<Notify>,
}

impl Inbox {
    /// Creates an inbox of that outbox; `written` signals new mails.
    pub(super) fn new(table: OutboxTable, clock: SharedClock, entropy: Entropy, written: Arc<Notify>) -> Self {
        Self { table, clock, entropy: Arc::new(entropy), written }
    }

    /// Returns the newest mails first, at most 200.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn list(&self, query: &InboxQuery) -> Result<Vec<InboxMail>> {
        outbox::list_inbox(&mut self.table.connection(), query, MAX_LISTED, self.clock.now()).await
    }

    /// Returns one mail.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn get(&self, id: Uuid) -> Result<Option<InboxMail>> {
        outbox::find_inbox_mail(&mut self.table.connection(), id, self.clock.now()).await
    }

    /// Waits until [`Inbox::list`] returns a mail, at most `patience`. No connection is held while waiting.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn wait(&self, query: &InboxQuery, patience: Duration) -> Result<Vec<InboxMail>> {
        let mut limit = self.clock.timeout(patience);
        let mut is_over = patience.is_zero();
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            written.as_mut().enable();
            let found = self.list(query).await?;
            if !found.is_empty() || is_over {
                return Ok(found);
            }
            let poll = self.clock.timeout(POLL_INTERVAL.min(patience));
            is_over = matches!(select(&mut limit, select(written, poll)).await, Either::Left(_));
        }
    }

    /// Returns the signal of new, marked and deleted messages, for readers that wait.
    ///
    /// It does not signal changes of other processes; see [`POLL_INTERVAL`].
    pub fn written(&self) -> &Notify {
        &self.written
    }

    /// Returns the selected messages of all channels.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn list_messages(&self, filter: &MessageFilter, range: MessageRange) -> Result<Vec<InboxMail>> {
        outbox::list_messages(&mut self.table.connection(), filter, range, self.clock.now()).await
    }

    /// Returns what changes of the latest mails are recognised by, newest first.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn list_mail_states(&self, limit: i64) -> Result<Vec<MailState>> {
        outbox::list_mail_states(&mut self.table.connection(), limit, self.clock.now()).await
    }

    /// Returns the number of the message of that id, for [`MessageFilter::after_number`].
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn find_number(&self, id: Uuid) -> Result<Option<i64>> {
        outbox::find_number(&mut self.table.connection(), id).await
    }

    /// Returns the number of the latest message; 0 if there is none.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn find_last_number(&self) -> Result<i64> {
        outbox::find_last_number(&mut self.table.connection()).await
    }

    /// Returns a mail of an application as it was received.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn find_raw(&self, id: Uuid) -> Result<Option<Vec<u8>>> {
        outbox::find_raw(&mut self.table.connection(), id).await
    }

    /// Deletes the selected messages, with `ids` only those of these ids; returns their number.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn delete(&self, filter: &MessageFilter, ids: Option<&[Uuid]>) -> Result<u64> {
        let count = outbox::delete_messages(&mut self.table.connection(), filter, ids, self.clock.now()).await?;
        self.written.notify_waiters();
        Ok(count)
    }

    /// Marks messages as read or unread, with `ids` only those of these ids; returns their number.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn mark_read(&self, ids: Option<&[Uuid]>, is_read: bool) -> Result<u64> {
        let count = outbox::mark_read(&mut self.table.connection(), ids, is_read, self.clock.now()).await?;
        self.written.notify_waiters();
        Ok(count)
    }

    /// Returns a new id and the time of a message to keep.
    pub fn stamp(&self) -> (Uuid, Time) {
        (self.entropy.uuid(), self.clock.now())
    }

    /// Keeps a message, and deletes the oldest mails of applications beyond 500.
    ///
    /// # Errors
    /// The database returned an error or was unreachable; the message is not kept.
    pub async fn keep(&self, message: &NewMessage) -> Result<()> {
        let db = &mut self.table.connection();
        outbox::insert_message(db, message).await?;
        self.written.notify_waiters();
        if message.raw.is_some() {
            outbox::delete_surplus_mails(db, MAX_KEPT_MAILS).await?;
        }
        Ok(())
    }
}
