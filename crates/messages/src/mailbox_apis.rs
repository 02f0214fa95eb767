//! The APIs of Mailpit and of Inbucket over the mails of a backend, for tests that use one of them.
//!
//! SMS messages are not part of them. Parameters and members that these APIs have and this server does not are ignored,
//! as the clients of both send them.

use axum::extract::Request;
use axum::response::Response;
use http_edge::request::{BODY_DEADLINE, read_body};

use crate::inbucket::InbucketApi;
use crate::mailbox_request::{AnswerError, split_path};
use crate::mailpit::MailpitApi;
use crate::monitors::{Monitors, Subscription};
use crate::store::MessageStore;

pub use crate::mailbox_request::MailboxRequest;
pub use crate::monitors::MonitorLimits;

/// The maximum number of bytes of a request body: a mail in Base64.
pub const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Answers requests to both APIs. It checks no access.
#[derive(Debug, Clone)]
pub struct MailboxApis {
    mailpit: MailpitApi,
    inbucket: InbucketApi,
    monitors: Monitors,
}

impl MailboxApis {
    /// Creates both APIs of a store.
    pub fn new(store: MessageStore) -> Self {
        Self::with_limits(store, MonitorLimits::default())
    }

    /// Creates both APIs of a store, with other limits of WebSockets than the default ones.
    pub fn with_limits(store: MessageStore, limits: MonitorLimits) -> Self {
        let monitors = Monitors::new(store.clone(), limits);
        Self { mailpit: MailpitApi::new(store.clone()), inbucket: InbucketApi::new(store), monitors }
    }

    /// Answers a request whose path is relative to the base URL of the APIs; it opens no WebSocket.
    pub async fn answer(&self, request: MailboxRequest<'_>) -> Response {
        let answered = match &*split_path(request.path) {
            ["api", "v1", "mailbox", name, rest @ ..] => self.inbucket.answer(request, name, rest).await,
            ["api", "v1", rest @ ..] => self.mailpit.answer(request, rest).await,
            ["view", name] => self.mailpit.view(name).await,
            _ => Err(AnswerError::not_found(
                "the APIs are at /api/v1/messages (Mailpit) and /api/v1/mailbox/{name} (Inbucket)",
            )),
        };
        answered.unwrap_or_else(AnswerError::into_response)
    }

    /// Answers a request to a port of the APIs.
    pub async fn handle(&self, request: Request) -> Response {
        let path = request.uri().path().to_owned();
        self.handle_below(&path, request).await
    }

    /// Answers a request; `path` is the one relative to the base URL of the APIs. It may open a WebSocket.
    pub async fn handle_below(&self, path: &str, request: Request) -> Response {
        if let Some(subscription) = Subscription::parse(&split_path(path)) {
            let opened = self.monitors.open(subscription, request).await;
            return opened.unwrap_or_else(AnswerError::into_response);
        }
        let (parts, body) = request.into_parts();
        let body = match read_body(body, MAX_BODY_BYTES, BODY_DEADLINE).await {
            Ok(body) => body,
            Err(error) => {
                let reason = "the body was not received in time or is too large".to_owned();
                return AnswerError::Refused(error.status(), reason).into_response();
            }
        };
        let query = parts.uri.query().unwrap_or_default();
        self.answer(MailboxRequest { method: &parts.method, path, query, body: &body }).await
    }
}
