//! The worker of the outbox: leases mails, sends them, and records the outcome.
//!
//! No database connection is held while sending.
//!
//! A killed worker loses no mail: its leases expire, and the mails are sent again with the same Message-ID.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::error_chain::ErrorChain;
use futures::FutureExt;
use futures::future::{Either, join_all, select};
use telemetry::catalog::OUTBOX_ATTEMPTS;
use tokio::sync::Notify;

use super::cleanup::OutboxCleanup;
use crate::clock::SharedClock;
use crate::entropy::Entropy;
use crate::mail::{EmailMessage, MailError, SharedMailer};
use crate::store::Result;
use crate::store::outbox::{self, LeasedMail, OutboxTable};

/// How long the worker may run after the start of a shutdown, whichever server is silent.
///
/// Deliveries that take longer are abandoned: their lease expires, and the mail is sent again with the same Message-ID.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

/// How many mails the worker of the outbox sends at once, and when it tries again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliverySchedule {
    /// The number of concurrent deliveries. Default 4.
    pub concurrency: u16,
    /// The time limit of one attempt. Default 1 min.
    pub attempt_timeout: Duration,
    /// The duration of a lease after its last renewal, of which there are three in that time.
    ///
    /// A mail waits that long after its worker was killed. Default 6 s.
    pub lease_duration: Duration,
    /// The pause after the first attempt; it doubles with each. Default 5 s.
    pub first_pause: Duration,
    /// The maximum pause. Default 1 h.
    pub max_pause: Duration,
    /// The number of permanent rejections before giving up, because the cause may be a setting. Default 3.
    pub max_rejections: u32,
    /// How long a mail is tried. Default 3 days.
    pub give_up_after: Duration,
    /// The interval of polling for mails without a signal, such as those of a crashed process.
    ///
    /// Default 15 s.
    pub poll_interval: Duration,
    /// How long sent mails are kept. Default 30 days.
    pub retention: Duration,
}

impl Default for DeliverySchedule {
    fn default() -> Self {
        Self {
            concurrency: 4,
            attempt_timeout: Duration::from_mins(1),
            lease_duration: Duration::from_secs(6),
            first_pause: Duration::from_secs(5),
            max_pause: Duration::from_hours(1),
            max_rejections: 3,
            give_up_after: Duration::from_hours(3 * 24),
            poll_interval: Duration::from_secs(15),
            retention: Duration::from_hours(30 * 24),
        }
    }
}

impl DeliverySchedule {
    /// Returns the pause after that many failed attempts.
    ///
    /// It doubles from the first to the maximum pause, with a jitter of a fifth so that mails that failed together are
    /// not retried together. `chance` is a random number.
    pub fn pause(&self, attempts: u32, chance: u32) -> Duration {
        let doubled = self.first_pause.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1).min(24)));
        doubled.min(self.max_pause).mul_f64(0.8 + 0.4 * f64::from(chance) / f64::from(u32::MAX))
    }
}

/// Sends the mails of an outbox.
pub struct Worker {
    pub(super) table: OutboxTable,
    pub(super) clock: SharedClock,
    pub(super) entropy: Entropy,
    pub(super) mailer: SharedMailer,
    pub(super) schedule: DeliverySchedule,
    pub(super) new_mail: Arc<Notify>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("schedule", &self.schedule).finish_non_exhaustive()
    }
}

impl Worker {
    /// Runs until `stop` completes; finishes the current deliveries first, within [`SHUTDOWN_LIMIT`].
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let stop = stop.shared();
        let abandoned = pin!(stop.clone().then(|()| self.clock.timeout(SHUTDOWN_LIMIT)));
        if let Either::Right(_) = select(pin!(self.deliver_until(stop)), abandoned).await {
            tracing::warn!("deliveries abandoned at shutdown, will be retried after the next start");
        }
    }

    async fn deliver_until(&self, stop: impl Future<Output = ()> + Clone + Unpin) {
        let mut cleanup = OutboxCleanup::new(&self.table, &self.clock, to_time_delta(self.schedule.retention));
        loop {
            let mut new_mail = pin!(self.new_mail.notified());
            new_mail.as_mut().enable();
            let delivered = self.deliver_due().await.unwrap_or_else(|error| {
                tracing::warn!(error = %ErrorChain(&error), "reading the outbox failed, will retry");
                0
            });
            if delivered > 0 {
                if stop.clone().now_or_never().is_some() {
                    return;
                }
                continue;
            }
            cleanup.run_if_due().await;
            let pause = self.clock.sleep(self.wait_time().await);
            if let Either::Left(_) = select(stop.clone(), select(new_mail, pause)).await {
                return;
            }
        }
    }

    /// Sends the due mails, up to the number of concurrent deliveries. Returns how many were tried.
    ///
    /// # Errors
    /// The database returned an error or was unreachable; leased mails are retried when their lease expires.
    pub async fn deliver_due(&self) -> Result<usize> {
        let now = self.clock.now();
        let until = now + to_time_delta(self.schedule.lease_duration);
        let mails =
            outbox::lease(&mut self.table.connection(), now, until, i64::from(self.schedule.concurrency)).await?;
        let count = mails.len();
        join_all(mails.into_iter().map(|mail| self.deliver(mail))).await.into_iter().collect::<Result<()>>()?;
        Ok(count)
    }

    async fn deliver(&self, mail: LeasedMail) -> Result<()> {
        let (mail, message) = into_message(mail);
        let outcome = self.attempt(&mail, &message).await;
        let now = self.clock.now();
        let db = &mut self.table.connection();
        let Err(error) = outcome else {
            OUTBOX_ATTEMPTS.increment(&["taken"]);
            return outbox::mark_sent(db, mail.id, now).await;
        };
        let attempts = mail.attempts.unsigned_abs();
        let error_text: String = error.to_string().chars().filter(|c| *c != '\0').take(500).collect();
        let next = now + to_time_delta(self.schedule.pause(attempts, u32::from_le_bytes(self.entropy.bytes())));
        let hopeless =
            error == MailError::Address || (error.is_permanent() && attempts >= self.schedule.max_rejections);
        if hopeless || next > mail.give_up_at {
            OUTBOX_ATTEMPTS.increment(&["given_up"]);
            tracing::error!(mail.id = %mail.id, mail.purpose, attempts, error = error_text, "mail delivery failed, giving up");
            return outbox::give_up(db, &mail, now, &error_text).await;
        }
        OUTBOX_ATTEMPTS.increment(&["failed"]);
        tracing::warn!(mail.id = %mail.id, mail.purpose, attempts, error = error_text, "mail delivery failed, will retry");
        outbox::postpone(db, &mail, next, &error_text).await
    }

    /// Makes one attempt within its time limit and renews the lease meanwhile.
    async fn attempt(&self, mail: &LeasedMail, message: &EmailMessage) -> std::result::Result<(), MailError> {
        let sending = AssertUnwindSafe(self.mailer.send(message)).catch_unwind();
        let time_is_up = select(self.clock.timeout(self.schedule.attempt_timeout), Box::pin(self.keep_lease(mail)));
        match select(sending, time_is_up).await {
            Either::Left((Ok(outcome), _)) => outcome,
            Either::Left((Err(_), _)) => Err(MailError::Failed("the mailer panicked".to_owned())),
            Either::Right(_) => Err(MailError::Failed(format!("no answer within {:?}", self.schedule.attempt_timeout))),
        }
    }

    /// Renews the lease repeatedly. A later renewal makes up for a failed one.
    async fn keep_lease(&self, mail: &LeasedMail) -> std::convert::Infallible {
        loop {
            self.clock.sleep(self.schedule.lease_duration / 3).await;
            let until = self.clock.now() + to_time_delta(self.schedule.lease_duration);
            if let Err(error) = outbox::renew(&mut self.table.connection(), mail, until).await {
                tracing::warn!(error = %ErrorChain(&error), "mail lease renewal failed");
            }
        }
    }

    /// Returns how long nothing is due, at most until the next poll.
    async fn wait_time(&self) -> Duration {
        let due = outbox::find_next_attempt(&mut self.table.connection()).await.unwrap_or_default();
        let wait = due.map(|due| (due - self.clock.now()).to_std().unwrap_or(Duration::ZERO));
        wait.map_or(self.schedule.poll_interval, |wait| {
            wait.clamp(Duration::from_millis(50), self.schedule.poll_interval)
        })
    }
}

/// Moves the message out of its row.
fn into_message(mut mail: LeasedMail) -> (LeasedMail, EmailMessage) {
    let message = EmailMessage {
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

pub(super) fn to_time_delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::days(3650))
}
