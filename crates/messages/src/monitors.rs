//! The WebSockets of Mailpit and Inbucket, which report what happens to mails.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use foundation::error_chain::ErrorChain;
use http::StatusCode;
use tokio::sync::Semaphore;

use crate::inbucket::MailboxMonitor;
use crate::mail_feed::{MailChange, MailFeed};
use crate::mailbox_request::{Answer, AnswerError};
use crate::mailpit::format_events;
use crate::store::{MessageStore, StoreError};
use crate::websocket::{CloseCode, Connection, Handshake, TextSender, accept};

/// Limits of the WebSockets of one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorLimits {
    /// The maximum number of open WebSockets.
    pub connections: usize,
    /// The interval of pings; a client that does not answer one until the next is disconnected.
    pub ping_interval: Duration,
}

impl Default for MonitorLimits {
    fn default() -> Self {
        Self { connections: 32, ping_interval: Duration::from_secs(30) }
    }
}

/// What a WebSocket reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subscription {
    /// Mailpit's events.
    Mailpit,
    /// Inbucket's events.
    Inbucket(MailboxMonitor),
}

impl Subscription {
    /// Parses the path of a request; `None` if no WebSocket is there.
    pub(crate) fn parse(path: &[&str]) -> Option<Self> {
        match path {
            ["api", "events"] => Some(Self::Mailpit),
            ["api", version @ ("v1" | "v2"), "monitor", "messages", rest @ ..] if rest.len() <= 1 => {
                Some(Self::Inbucket(MailboxMonitor::new(*version == "v2", rest.first().copied())))
            }
            _ => None,
        }
    }

    /// Returns the texts with which a client starts.
    async fn format_start(&self, feed: &MailFeed) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Mailpit => Ok(Vec::new()),
            Self::Inbucket(monitor) => monitor.format_history(feed).await,
        }
    }

    async fn format(&self, feed: &MailFeed, changes: &[MailChange]) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Mailpit => format_events(feed, changes).await,
            Self::Inbucket(monitor) => monitor.format_changes(feed.store(), changes).await,
        }
    }
}

/// The WebSockets of one backend; clones share their limit.
#[derive(Debug, Clone)]
pub(crate) struct Monitors {
    store: MessageStore,
    places: Arc<Semaphore>,
    limits: MonitorLimits,
}

impl Monitors {
    pub(crate) fn new(store: MessageStore, limits: MonitorLimits) -> Self {
        Self { store, places: Arc::new(Semaphore::new(limits.connections)), limits }
    }

    /// Opens a WebSocket, which reports what happens from before the response is sent.
    pub(crate) async fn open(&self, subscription: Subscription, mut request: Request) -> Answer {
        let Handshake { response, upgrade } = accept(&mut request)?;
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let reason = format!("there are {} WebSockets already: close those not needed", self.limits.connections);
            return Err(AnswerError::Refused(StatusCode::SERVICE_UNAVAILABLE, reason));
        };
        let feed = MailFeed::start(self.store.clone()).await?;
        let closing = self.store.closing.clone();
        let (connection, sender) = Connection::new(upgrade, closing, self.limits.ping_interval);
        http_edge::spawn_task(report(subscription, feed, sender));
        http_edge::spawn_task(async move {
            connection.run().await;
            drop(place);
        });
        Ok(response)
    }
}

/// Sends what happens until the connection ends.
async fn report(subscription: Subscription, mut feed: MailFeed, client: TextSender) {
    let Err(error) = send_changes(&subscription, &mut feed, &client).await else { return };
    if !*feed.store().closing.borrow() {
        tracing::warn!(error = %ErrorChain(&error), "reading messages for a WebSocket failed");
    }
    drop(client.send(Err(CloseCode::Error)).await);
}

async fn send_changes(subscription: &Subscription, feed: &mut MailFeed, client: &TextSender) -> Result<(), StoreError> {
    let mut texts = subscription.format_start(feed).await?;
    loop {
        for text in texts {
            if client.send(Ok(text)).await.is_err() {
                return Ok(());
            }
        }
        let changes = tokio::select! {
            changes = feed.wait() => changes?,
            () = client.closed() => return Ok(()),
        };
        texts = subscription.format(feed, &changes).await?;
    }
}
