//! The worker of the outbox: takes mails under a lease, gives them to a mail server without holding a connection, and writes
//! down what came of it. Killed at any point it loses nothing: a lease ends by itself, and the mail goes out again under the
//! same Message-ID.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures::FutureExt;
use futures::future::{Either, join_all, select};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio::sync::Notify;

use super::sweeper::Sweeper;
use crate::ports::clock::SharedClock;
use crate::ports::entropy::Entropy;
use crate::ports::mail::{MailError, Message, SharedMailer};
use crate::store::Result;
use crate::store::outbox::{self, Leased, OutboxState, Table};

/// How many mails are where.
const MAILS: &str = "basalt_outbox_mails";
/// What became of attempts to deliver.
const ATTEMPTS: &str = "basalt_outbox_attempts_total";

/// The rhythm of delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// How many mails travel at once. Default 4.
    pub at_once: u16,
    /// The longest time one attempt may take. Default 1 min.
    pub attempt: Duration,
    /// How long a mail is one worker's after the last sign of life; the worker gives three of them in that time. So long a
    /// mail waits when its worker is killed. Default 6 s.
    pub lease: Duration,
    /// The pause after the first attempt; it doubles with each. Default 5 s.
    pub first_pause: Duration,
    /// The longest pause. Default 1 h.
    pub longest_pause: Duration,
    /// How often a mail that the server refuses for good is tried, because what it refuses may be a setting. Default 3.
    pub refusals: u32,
    /// How long a mail is tried. Default 3 days.
    pub give_up_after: Duration,
    /// How often to look for mails that nobody told of: those of a process that died. Default 15 s.
    pub look: Duration,
    /// How long mails that arrived are remembered. Default 30 days.
    pub keep: Duration,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self {
            at_once: 4,
            attempt: Duration::from_mins(1),
            lease: Duration::from_secs(6),
            first_pause: Duration::from_secs(5),
            longest_pause: Duration::from_hours(1),
            refusals: 3,
            give_up_after: Duration::from_hours(3 * 24),
            look: Duration::from_secs(15),
            keep: Duration::from_hours(30 * 24),
        }
    }
}

impl Rhythm {
    /// How long to wait after so many attempts failed: it doubles each time from the first pause to the longest, spread by a
    /// fifth so that mails that failed together do not come back together. `chance` is any number.
    pub fn pause(&self, attempts: u32, chance: u32) -> Duration {
        let doubled = self.first_pause.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1).min(24)));
        doubled.min(self.longest_pause).mul_f64(0.8 + 0.4 * f64::from(chance) / f64::from(u32::MAX))
    }
}

/// Delivers the mails of an outbox.
pub struct Worker {
    pub(super) table: Table,
    pub(super) clock: SharedClock,
    pub(super) entropy: Entropy,
    pub(super) mailer: SharedMailer,
    pub(super) rhythm: Rhythm,
    pub(super) written: Arc<Notify>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("rhythm", &self.rhythm).finish_non_exhaustive()
    }
}

impl Worker {
    /// Delivers until `stop` completes; what is on its way then is finished first.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        describe_gauge!(MAILS, "Mails in the outbox, by what became of them so far");
        describe_counter!(ATTEMPTS, "Attempts to hand a mail to the mail server, by outcome");
        let mut stop = std::pin::pin!(stop.fuse());
        let mut sweeper = Sweeper::new(&self.table, &self.clock, span(self.rhythm.keep));
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            written.as_mut().enable();
            let delivered = self.round().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the outbox could not be read; it is read again in a moment");
                0
            });
            if delivered > 0 {
                if stop.as_mut().now_or_never().is_some() {
                    return;
                }
                continue;
            }
            sweeper.sweep().await;
            self.tell().await;
            let pause = self.clock.sleep(self.idle().await);
            if let Either::Left(_) = select(stop.as_mut(), select(written, pause)).await {
                return;
            }
        }
    }

    /// Delivers the mails that are due now, as many as may travel at once. Returns how many were tried.
    ///
    /// # Errors
    /// The database refused or was lost; mails that are on a lease come again when it ends.
    pub async fn round(&self) -> Result<usize> {
        let now = self.clock.now();
        let until = now + span(self.rhythm.lease);
        let mails = outbox::lease(&mut self.table.connection(), now, until, i64::from(self.rhythm.at_once)).await?;
        let count = mails.len();
        join_all(mails.into_iter().map(|mail| self.deliver(mail))).await.into_iter().collect::<Result<()>>()?;
        Ok(count)
    }

    async fn deliver(&self, mail: Leased) -> Result<()> {
        let (mail, message) = message(mail);
        let outcome = self.attempt(&mail, &message).await;
        let now = self.clock.now();
        let db = &mut self.table.connection();
        let Err(error) = outcome else {
            counter!(ATTEMPTS, "outcome" => "taken").increment(1);
            return outbox::sent(db, mail.id, now).await;
        };
        let attempts = mail.attempts.unsigned_abs();
        let said: String = error.to_string().chars().filter(|c| *c != '\0').take(500).collect();
        let next = now + span(self.rhythm.pause(attempts, u32::from_le_bytes(self.entropy.bytes())));
        let hopeless = error == MailError::Address || (error.is_permanent() && attempts >= self.rhythm.refusals);
        if hopeless || next > mail.give_up_at {
            counter!(ATTEMPTS, "outcome" => "given_up").increment(1);
            tracing::error!(mail.id = %mail.id, mail.purpose, attempts, error = said, "a mail was given up");
            return outbox::give_up(db, &mail, now, &said).await;
        }
        counter!(ATTEMPTS, "outcome" => "failed").increment(1);
        tracing::warn!(mail.id = %mail.id, mail.purpose, attempts, error = said, "a mail was not taken; it is tried again");
        outbox::postpone(db, &mail, next, &said).await
    }

    /// One attempt, which ends in time and whatever happens, with signs of life meanwhile.
    async fn attempt(&self, mail: &Leased, message: &Message) -> std::result::Result<(), MailError> {
        let sending = AssertUnwindSafe(self.mailer.send(message)).catch_unwind();
        let time_is_up = select(self.clock.sleep(self.rhythm.attempt), Box::pin(self.stay_alive(mail)));
        match select(sending, time_is_up).await {
            Either::Left((Ok(outcome), _)) => outcome,
            Either::Left((Err(_), _)) => Err(MailError::Failed("the mailer panicked".to_owned())),
            Either::Right(_) => Err(MailError::Failed(format!("no answer within {:?}", self.rhythm.attempt))),
        }
    }

    /// Renews the lease again and again. A sign that cannot be given is made up for by the next one.
    async fn stay_alive(&self, mail: &Leased) -> std::convert::Infallible {
        loop {
            self.clock.sleep(self.rhythm.lease / 3).await;
            let until = self.clock.now() + span(self.rhythm.lease);
            if let Err(error) = outbox::renew(&mut self.table.connection(), mail, until).await {
                tracing::warn!(%error, "the lease of a mail could not be renewed");
            }
        }
    }

    /// How long nothing is due, at most until the next look.
    async fn idle(&self) -> Duration {
        let due = outbox::next(&mut self.table.connection()).await.unwrap_or_default();
        let wait = due.map(|due| (due - self.clock.now()).to_std().unwrap_or(Duration::ZERO));
        wait.map_or(self.rhythm.look, |wait| wait.clamp(Duration::from_millis(50), self.rhythm.look))
    }

    /// Tells the metrics how many mails are where.
    async fn tell(&self) {
        let since = self.clock.now() - TimeDelta::days(1);
        let Ok(state) = outbox::state(&mut self.table.connection(), since).await else { return };
        let OutboxState { waiting, retrying, failed, sent } = state;
        for (name, count) in [("waiting", waiting), ("retrying", retrying), ("failed", failed), ("sent_in_a_day", sent)]
        {
            gauge!(MAILS, "state" => name).set(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
        }
    }
}

/// The message of a row; the row without it.
fn message(mut mail: Leased) -> (Leased, Message) {
    let message = Message {
        purpose: mail.purpose.clone().into(),
        to: std::mem::take(&mut mail.recipient),
        subject: std::mem::take(&mut mail.subject),
        html: std::mem::take(&mut mail.html),
        text: mail.text.take(),
        message_id: std::mem::take(&mut mail.message_id),
        date: mail.created_at,
        headers: std::mem::take(&mut mail.headers),
        code: None,
        link: None,
    };
    (mail, message)
}

pub(super) fn span(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::days(3650))
}
