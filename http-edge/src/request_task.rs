//! Runs each request in a task of its own: a client that disconnects stops waiting, and cancels nothing.
//!
//! A handler that was cancelled in the middle of a transaction would cost its connection, which a client could do on
//! purpose (`docs/decisions/0043-connections-of-unknown-state-are-closed.md`). Each request still has its deadline.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use tokio::sync::watch;

/// The requests under way, also those whose client has gone.
#[derive(Debug, Clone)]
pub struct RequestTasks(watch::Sender<usize>);

/// Counts a request until it is dropped.
struct Running(watch::Sender<usize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl RequestTasks {
    /// None yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    /// The answer of a request, which runs to its end even if the returned future is dropped.
    pub async fn run(&self, answer: impl Future<Output = Response> + Send + 'static) -> Response {
        self.0.send_modify(|running| *running += 1);
        let running = Running(self.0.clone());
        let task = tokio::spawn(async move {
            let response = answer.await;
            drop(running);
            response
        });
        task.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a request ended without a response");
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        })
    }

    /// Waits until no request is under way, for at most `limit`; how many still are.
    pub async fn finished(&self, limit: Duration) -> usize {
        let mut running = self.0.subscribe();
        drop(tokio::time::timeout(limit, running.wait_for(|running| *running == 0)).await);
        *self.0.borrow()
    }
}
