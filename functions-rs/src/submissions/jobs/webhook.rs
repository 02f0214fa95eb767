//! Calls of the owner's webhook, at least one for each event.
//!
//! Events are rows of the transactions that store submissions.
//! No database connection is held during a call. Events of a killed server are delivered by another one when their
//! lease expires, with the same id.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::error_chain::ErrorChain;
use futures::FutureExt;
use futures::future::{BoxFuture, Either, join_all, select};
use platform::clock::SharedClock;
use platform::event_webhook::EventWebhook;
use platform::journal::Journal;
use platform::store::{Connection, Pool, Result};
use serde_json::json;
use uuid::Uuid;

use super::store::{self, LeasedEvent};
use crate::functions::send_submission::TemplateTitles;
use crate::submissions::records::format_time;

/// The number of concurrent calls.
const CONCURRENCY: i64 = 4;
/// How long a server holds an event; longer than a call takes.
const LEASE: TimeDelta = TimeDelta::seconds(30);
/// The pause after the first attempt; it doubles with each.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(5);
/// The maximum pause.
const MAX_PAUSE: TimeDelta = TimeDelta::hours(1);
/// How long an event is tried.
const GIVE_UP_AFTER: TimeDelta = TimeDelta::days(3);
/// How often events are looked for that nothing announced.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Delivers one event.
pub trait DeliverEvent: Send + Sync {
    /// Delivers the message of this id; a failure is a text for the log.
    fn deliver<'a>(&'a self, id: Uuid, payload: &'a str) -> BoxFuture<'a, std::result::Result<(), String>>;
}

impl DeliverEvent for EventWebhook {
    fn deliver<'a>(&'a self, id: Uuid, payload: &'a str) -> BoxFuture<'a, std::result::Result<(), String>> {
        Box::pin(EventWebhook::deliver(self, id, payload))
    }
}

/// Delivers the events of new submissions. Several workers may run, also on other servers.
pub struct WebhookWorker {
    pool: Pool,
    webhook: Arc<dyn DeliverEvent>,
    titles: TemplateTitles,
    clock: SharedClock,
}

/// Omits the webhook, whose URL may contain a secret.
impl fmt::Debug for WebhookWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookWorker").finish_non_exhaustive()
    }
}

impl WebhookWorker {
    /// Creates a worker that calls this webhook.
    pub fn new(pool: Pool, webhook: Arc<dyn DeliverEvent>, titles: TemplateTitles, clock: SharedClock) -> Self {
        Self { pool, webhook, titles, clock }
    }

    /// Delivers events until `stop` completes. A call in progress is abandoned and repeated later.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop.fuse());
        loop {
            let turn = std::pin::pin!(self.take_turn());
            if let Either::Left(_) = select(stop.as_mut(), turn).await {
                return;
            }
        }
    }

    /// Delivers what is due, and waits if there was nothing.
    async fn take_turn(&self) {
        let delivered = self.deliver_due().await.unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "reading the events of submissions failed, will retry");
            0
        });
        if delivered == 0 {
            self.clock.sleep(self.wait_time().await).await;
        }
    }

    /// Delivers the due events, up to the number of concurrent calls; returns how many were tried.
    ///
    /// # Errors
    /// A statement failed; leased events are tried again when their lease expires.
    pub async fn deliver_due(&self) -> Result<usize> {
        let now = self.clock.now();
        let events = store::lease(&mut self.connection(), now, now + LEASE, CONCURRENCY).await?;
        let outcomes = join_all(events.iter().map(|event| self.deliver(event))).await;
        outcomes.into_iter().collect::<Result<Vec<()>>>()?;
        Ok(events.len())
    }

    async fn deliver(&self, event: &LeasedEvent) -> Result<()> {
        let outcome = self.webhook.deliver(event.id, &self.format_payload(event)).await;
        let now = self.clock.now();
        let Err(error) = outcome else {
            return store::mark_delivered(&mut self.connection(), event.id, now).await;
        };
        let error: String = error.chars().filter(|c| *c != '\0').take(500).collect();
        let (attempts, next) = (event.attempts, now + pause(event.attempts));
        let is_over = next > event.created_at + GIVE_UP_AFTER;
        if is_over {
            tracing::error!(event.id = %event.id, attempts, error, "the webhook of submissions failed, giving up");
        } else {
            tracing::warn!(event.id = %event.id, attempts, error, "the webhook of submissions failed, will retry");
        }
        store::postpone(&mut self.connection(), event, next, is_over.then_some(now), &error).await
    }

    fn format_payload(&self, event: &LeasedEvent) -> String {
        let mut data = event.submission.to_json(&self.titles);
        data["description"] = event.submission.description.as_str().into();
        for name in ["excerpt", "replies", "delivery"] {
            data.as_object_mut().and_then(|members| members.remove(name));
        }
        json!({ "type": "submission.created", "timestamp": format_time(event.created_at), "data": data }).to_string()
    }

    /// Returns how long nothing is due, at most until the next poll.
    async fn wait_time(&self) -> Duration {
        let due = store::find_next_attempt(&mut self.connection()).await.unwrap_or_default();
        let wait = due.map(|due| (due - self.clock.now()).to_std().unwrap_or(Duration::ZERO));
        wait.map_or(POLL_INTERVAL, |wait| wait.clamp(Duration::from_millis(50), POLL_INTERVAL))
    }

    fn connection(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::new(Journal::default()))
    }
}

/// Returns the pause after that many failed attempts.
fn pause(attempts: i32) -> TimeDelta {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(20);
    FIRST_PAUSE.checked_mul(1 << doublings).map_or(MAX_PAUSE, |pause| pause.min(MAX_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_doubles_up_to_an_hour() {
        let seconds = [0, 1, 2, 3, 10, 11, i32::MAX].map(|attempts| pause(attempts).num_seconds());
        assert_eq!(seconds, [5, 5, 10, 20, 2560, 3600, 3600]);
    }
}
