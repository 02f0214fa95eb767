//! The end of a request: its copy goes to the recorder.

use std::net::IpAddr;

use gotrue_rs::ports::clock::{Clock, SystemClock};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedSender;

use super::body::BodyCopy;
use super::exchange::Exchange;
use crate::format::Service;

/// What the recorder's thread gets.
pub(super) enum Event {
    /// A request and its response.
    Exchange(Box<Exchange>, OwnedSemaphorePermit),
    /// The name of the flow of the next requests.
    Name(String),
    /// Nothing more is recorded.
    End,
}

/// Sends the exchange when the last part of the response has passed.
pub(super) struct Completion {
    /// `None` if there is no response.
    pub exchange: Option<Box<Exchange>>,
    pub request: BodyCopy,
    pub response: BodyCopy,
    permit: Option<OwnedSemaphorePermit>,
    events: UnboundedSender<Event>,
}

impl Completion {
    /// Begins the copy of a request.
    pub(super) fn new(
        head: &http::request::Parts,
        (service, path): (Service, String),
        peer: Option<IpAddr>,
        permit: OwnedSemaphorePermit,
        events: UnboundedSender<Event>,
    ) -> Self {
        let agent = head.headers.get("user-agent").and_then(|value| value.to_str().ok()).unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "milliseconds are below 2^52")]
        let at = SystemClock.now().timestamp_millis() as f64 / 1000.0;
        let exchange = Exchange {
            method: head.method.to_string(),
            path,
            service,
            headers: head.headers.clone(),
            at,
            client: format!("{peer:?} {agent}"),
            ..Exchange::default()
        };
        let (request, response) = (BodyCopy::default(), BodyCopy::default());
        Self { exchange: Some(Box::new(exchange)), request, response, permit: Some(permit), events }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        let (Some(mut exchange), Some(permit)) = (self.exchange.take(), self.permit.take()) else { return };
        // The start of a body has not the meaning of the whole one.
        let (Some(body), Some(response_body)) = (self.request.take(), self.response.take()) else {
            let (method, status) = (&exchange.method, exchange.status);
            tracing::warn!(method, status, "a request or response ended early and is not recorded");
            return;
        };
        exchange.body = body;
        exchange.response_body = response_body;
        let _ = self.events.send(Event::Exchange(exchange, permit));
    }
}
