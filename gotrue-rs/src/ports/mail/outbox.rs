//! The outbox: a mailer that writes mails down, in the transaction of what they tell of, and a worker that hands them to
//! the mailer that delivers. Without a mail server what is written down is the development inbox, and nothing travels.

mod sweeper;
mod worker;

use std::sync::Arc;

use chrono::TimeDelta;
use futures::future::BoxFuture;
use gotrue_rules::domain::user::Time;
use tokio::sync::Notify;

use super::inbox::Inbox;
use super::{MailError, Mailer, Message, SharedMailer};
use crate::ports::clock::SharedClock;
use crate::ports::entropy::Entropy;
use crate::store::Connection;
use crate::store::outbox::{self, NewMail, OutboxState, Table, Trouble};

pub use self::sweeper::Sweeper;
pub use self::worker::{Rhythm, Worker};

/// Where written mails go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// A worker hands them to a mail server.
    Server,
    /// They stay where they are, and the development inbox shows them.
    Inbox,
}

/// Takes mails by writing them down.
#[derive(Debug)]
pub struct Outbox {
    table: Table,
    clock: SharedClock,
    entropy: Entropy,
    destination: Destination,
    rhythm: Rhythm,
    written: Arc<Notify>,
}

impl Outbox {
    /// An outbox in this table. `entropy` gives ids and the spread of attempts.
    pub fn new(table: Table, clock: SharedClock, entropy: Entropy, destination: Destination) -> Self {
        Self { table, clock, entropy, destination, rhythm: Rhythm::default(), written: Arc::default() }
    }

    /// Delivers in another rhythm than the usual one.
    #[must_use]
    pub fn delivering(self, rhythm: Rhythm) -> Self {
        Self { rhythm, ..self }
    }

    /// The row of a mail, for a statement that writes it together with something else; then [`Outbox::announce`].
    pub fn row(&self, message: &Message) -> NewMail {
        let arrived = self.destination == Destination::Inbox;
        let clean = |text: &str| text.replace('\0', "");
        let written = message.date;
        NewMail {
            id: self.entropy.uuid(),
            purpose: message.purpose.clone().into_owned(),
            recipient: clean(&message.to),
            subject: clean(&message.subject),
            html: clean(&message.html),
            text: message.text.as_deref().map(clean),
            headers: message.headers.iter().map(|(name, value)| (clean(name), clean(value))).collect(),
            code: message.code.as_deref().map(clean),
            link: message.link.as_deref().map(clean),
            message_id: clean(&message.message_id),
            created_at: written,
            give_up_at: self.give_up_at(written),
            sent_at: arrived.then_some(written),
            sent_to: arrived.then_some("inbox"),
        }
    }

    fn give_up_at(&self, written: Time) -> Time {
        written + TimeDelta::from_std(self.rhythm.give_up_after).unwrap_or(TimeDelta::days(3650))
    }

    /// Writes a mail in the caller's transaction, if it has one. It goes out once that is committed.
    ///
    /// # Errors
    /// The database refused or was lost; the transaction is lost too.
    pub async fn put(&self, db: &mut Connection, message: &Message) -> crate::store::Result<()> {
        outbox::insert(db, &[self.row(message)]).await?;
        self.announce(db);
        Ok(())
    }

    /// Says that rows were written over this connection: once they are committed the worker delivers at once, and whoever waits
    /// at the inbox looks again. Lost with the process, the mails go out at another worker's next look all the same.
    pub fn announce(&self, db: &mut Connection) {
        db.wake(&self.written);
    }

    /// The worker that delivers through `mailer`. Several may run at once, in several processes too.
    pub fn worker(&self, mailer: SharedMailer) -> Worker {
        Worker {
            table: self.table.clone(),
            clock: Arc::clone(&self.clock),
            entropy: self.entropy.fork(),
            mailer,
            rhythm: self.rhythm,
            written: Arc::clone(&self.written),
        }
    }

    /// What forgets old mails where no worker does it.
    pub fn sweeper(&self) -> Sweeper {
        Sweeper::new(&self.table, &self.clock, worker::span(self.rhythm.keep))
    }

    /// The development inbox.
    pub fn inbox(&self) -> Inbox {
        Inbox::new(self.table.clone(), Arc::clone(&self.clock), Arc::clone(&self.written))
    }

    /// How many mails are where. A worker tells the same to the metrics.
    ///
    /// # Errors
    /// The database refused or was lost.
    pub async fn state(&self) -> crate::store::Result<OutboxState> {
        outbox::state(&mut self.table.connection(), self.clock.now() - TimeDelta::days(1)).await
    }

    /// The latest hundred mails that were tried in vain, without what is in them.
    ///
    /// # Errors
    /// The database refused or was lost.
    pub async fn troubles(&self) -> crate::store::Result<Vec<Trouble>> {
        outbox::troubles(&mut self.table.connection()).await
    }
}

impl Mailer for Outbox {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            let written = self.put(&mut self.table.connection(), message).await;
            written.map_err(|error| MailError::Failed(format!("the mail could not be written down: {error}")))
        })
    }
}
