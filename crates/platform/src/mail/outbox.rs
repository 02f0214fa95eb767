//! The outbox: a mailer that stores mails in the caller's transaction, and the worker that sends them.
//!
//! Without a mail server the stored mails form the development inbox.

mod cleanup;
mod worker;

use std::sync::Arc;

use chrono::TimeDelta;
use foundation::time::Time;
use futures::future::BoxFuture;
use telemetry::catalog::{OUTBOX_MAILS, OUTBOX_OLDEST};
use tokio::sync::Notify;
use uuid::Uuid;

use super::inbox::Inbox;
use super::{EmailMessage, MailError, MailFault, MailFaultInjector, Mailer, SharedMailer};
use crate::clock::SharedClock;
use crate::entropy::Entropy;
use crate::store::Connection;
use crate::store::outbox::{self, FailingMail, NewMail, OutboxCounts, OutboxTable};

pub use self::cleanup::OutboxCleanup;
pub use self::worker::{DeliverySchedule, Worker};

/// The destination of stored mails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailDestination {
    /// A worker sends them to a mail server.
    Server,
    /// They stay in the outbox, and the development inbox shows them.
    Inbox,
    /// Nothing takes them: only that they were written is stored, without code, link and text.
    Discarded,
}

/// A mailer that stores mails.
#[derive(Debug)]
pub struct Outbox {
    table: OutboxTable,
    clock: SharedClock,
    entropy: Entropy,
    destination: MailDestination,
    /// Whether SMS messages that no sender takes are kept.
    is_keeping_sms: bool,
    schedule: DeliverySchedule,
    new_mail: Arc<Notify>,
    faults: Option<Arc<dyn MailFaultInjector>>,
}

impl Outbox {
    /// Creates an outbox. `entropy` generates ids and the jitter of attempts.
    pub fn new(table: OutboxTable, clock: SharedClock, entropy: Entropy, destination: MailDestination) -> Self {
        let (schedule, new_mail) = (DeliverySchedule::default(), Arc::default());
        Self { table, clock, entropy, destination, is_keeping_sms: false, schedule, new_mail, faults: None }
    }

    /// Keeps SMS messages in the inbox while no sender is configured, for development and tests.
    #[must_use]
    pub fn keeping_sms(self, is_keeping_sms: bool) -> Self {
        Self { is_keeping_sms, ..self }
    }

    /// Returns the inbox for SMS messages, if they are kept.
    pub fn sms_inbox(&self) -> Option<Inbox> {
        self.is_keeping_sms.then(|| self.inbox())
    }

    /// Withholds mails from the inbox or delays them; for test environments.
    #[must_use]
    pub fn with_faults(self, faults: Arc<dyn MailFaultInjector>) -> Self {
        Self { faults: Some(faults), ..self }
    }

    /// Returns the row of a mail for a statement of the caller.
    ///
    /// The caller then calls [`Outbox::notify_after_commit`].
    pub fn to_row(&self, message: &EmailMessage) -> NewMail {
        let clean = |text: &str| text.replace('\0', "");
        // The content is for its recipient: it is stored only if it will be delivered or shown.
        let content =
            |text: &str| if self.destination == MailDestination::Discarded { String::new() } else { clean(text) };
        let optional = |text: &Option<String>| text.as_deref().map(content).filter(|text| !text.is_empty());
        let written = message.date;
        let (sent_to, sent_at) = match self.destination {
            MailDestination::Server => (None, None),
            MailDestination::Inbox => match self.faults.as_ref().and_then(|faults| faults.fault_of_mail()) {
                Some(MailFault::Withhold) => (None, None),
                Some(MailFault::Delay(delay)) => (Some("inbox"), Some(written + worker::to_time_delta(delay))),
                None => (Some("inbox"), Some(written)),
            },
            MailDestination::Discarded => (Some("discarded"), Some(written)),
        };
        NewMail {
            id: self.entropy.uuid(),
            purpose: message.purpose.clone().into_owned(),
            recipient: clean(&message.to),
            subject: content(&message.subject),
            html: content(&message.html),
            text: optional(&message.text),
            headers: message.headers.iter().map(|(name, value)| (clean(name), clean(value))).collect(),
            code: optional(&message.code),
            link: optional(&message.link),
            message_id: clean(&message.message_id),
            created_at: written,
            give_up_at: self.give_up_at(written),
            sent_at,
            sent_to,
        }
    }

    fn give_up_at(&self, written: Time) -> Time {
        written + TimeDelta::from_std(self.schedule.give_up_after).unwrap_or(TimeDelta::days(3650))
    }

    /// Stores a mail in the caller's transaction, if it has one. It is sent after the commit.
    ///
    /// # Errors
    /// The database returned an error or was unreachable; the transaction is aborted.
    pub async fn enqueue(&self, db: &mut Connection, message: &EmailMessage) -> crate::store::Result<()> {
        outbox::insert(db, &[self.to_row(message)]).await?;
        self.notify_after_commit(db);
        Ok(())
    }

    /// Makes a mail that was given up due again, with a new time limit; returns whether there was one.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn retry(&self, db: &mut Connection, id: Uuid) -> crate::store::Result<bool> {
        let now = self.clock.now();
        let is_due = outbox::retry(db, id, now, self.give_up_at(now)).await?;
        self.notify_after_commit(db);
        Ok(is_due)
    }

    /// Wakes the worker and the readers of the inbox after the commit of this connection.
    ///
    /// If the signal is lost with the process, another worker's next poll finds the mails.
    pub fn notify_after_commit(&self, db: &mut Connection) {
        db.wake_on_commit(&self.new_mail);
    }

    /// Creates a worker that sends with `mailer`. Several can run at once, even in several processes.
    pub fn build_worker(&self, mailer: SharedMailer) -> Worker {
        Worker {
            table: self.table.clone(),
            clock: Arc::clone(&self.clock),
            entropy: self.entropy.fork(),
            mailer,
            schedule: self.schedule,
            new_mail: Arc::clone(&self.new_mail),
        }
    }

    /// Creates the cleanup task for an outbox without a worker.
    pub fn build_cleanup(&self) -> OutboxCleanup {
        OutboxCleanup::new(&self.table, &self.clock, worker::to_time_delta(self.schedule.retention))
    }

    /// Returns the development inbox.
    pub fn inbox(&self) -> Inbox {
        Inbox::new(self.table.clone(), Arc::clone(&self.clock), self.entropy.fork(), Arc::clone(&self.new_mail))
    }

    /// Counts the mails by delivery state.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn count_by_state(&self) -> crate::store::Result<OutboxCounts> {
        outbox::count_by_state(&mut self.table.connection(), self.clock.now() - TimeDelta::days(1)).await
    }

    /// Sets the metrics of the mails by state and of the oldest one.
    ///
    /// # Errors
    /// The database returned an error or was unreachable; the metrics keep their values.
    #[expect(clippy::cast_precision_loss, reason = "exact far beyond any number of mails")]
    pub async fn export_metrics(&self) -> crate::store::Result<()> {
        let OutboxCounts { waiting, retrying, failed, sent, oldest } = self.count_by_state().await?;
        for (state, mails) in
            [("waiting", waiting), ("retrying", retrying), ("failed", failed), ("sent_in_a_day", sent)]
        {
            OUTBOX_MAILS.set(&[state], mails as f64);
        }
        let age = oldest.and_then(|oldest| (self.clock.now() - oldest).to_std().ok()).unwrap_or_default();
        OUTBOX_OLDEST.set(&[], age.as_secs_f64());
        Ok(())
    }

    /// Returns the latest hundred unsent mails with an error, without their content.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn list_failing(&self) -> crate::store::Result<Vec<FailingMail>> {
        outbox::list_failing(&mut self.table.connection()).await
    }
}

impl Mailer for Outbox {
    fn send<'a>(&'a self, message: &'a EmailMessage) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            let written = self.enqueue(&mut self.table.connection(), message).await;
            written.map_err(|error| MailError::Failed(format!("the mail could not be written down: {error}")))
        })
    }
}
