//! The end of a request: its copy goes to the recorder.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::USER_AGENT;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedSender;

use super::body::BodyCopy;
use super::capture::{Api, Capture, CapturedBody};

/// What the recorder's thread gets.
pub(super) enum Event {
    /// A request and its response.
    Exchange(Box<Capture>, OwnedSemaphorePermit),
    /// The name of the flow of the next requests.
    Name(String),
    /// Nothing more is recorded.
    End,
}

/// Sends the exchange when the last part of the response has passed.
pub(super) struct Completion {
    /// `None` if there is no response.
    pub exchange: Option<Box<Capture>>,
    pub request: BodyCopy,
    pub response: BodyCopy,
    permit: Option<OwnedSemaphorePermit>,
    events: UnboundedSender<Event>,
}

impl Completion {
    /// Begins the copy of a request that arrived at a time, in seconds.
    pub(super) fn new(
        head: &http::request::Parts,
        (api, path): (Api, String),
        (peer, at): (Option<IpAddr>, f64),
        permit: OwnedSemaphorePermit,
        events: UnboundedSender<Event>,
    ) -> Self {
        let agent = head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let exchange = Capture {
            method: head.method.to_string(),
            path,
            api,
            headers: head.headers.clone(),
            body: CapturedBody::default(),
            status: 0,
            response_headers: HeaderMap::new(),
            response_body: CapturedBody::default(),
            at,
            client: format!("{peer:?} {agent}"),
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
