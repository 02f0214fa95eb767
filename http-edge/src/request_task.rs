//! Runs each request in a task of its own: a client that disconnects does not cancel its request.
//!
//! A handler cancelled inside a transaction costs its database connection, which a client could cause on purpose
//! (`docs/decisions/0043-connections-of-unknown-state-are-closed.md`). Each request still has its deadline.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use tokio::sync::watch;

/// The running requests, including those of disconnected clients.
#[derive(Debug, Clone)]
pub(crate) struct RequestTasks(watch::Sender<usize>);

/// Counts a running request until dropped.
struct RunningGuard(watch::Sender<usize>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl RequestTasks {
    /// Creates the counter with no running requests.
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    /// Runs a request to its end, even if the returned future is dropped.
    pub(crate) async fn run(&self, answer: impl Future<Output = Response> + Send + 'static) -> Response {
        self.0.send_modify(|running| *running += 1);
        let running = RunningGuard(self.0.clone());
        let task = tokio::spawn(async move {
            let response = answer.await;
            drop(running);
            response
        });
        task.await.unwrap_or_else(|error| {
            tracing::error!(%error, "request task ended without a response");
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        })
    }

    /// Waits until no request runs, for at most `limit`; returns the number that still run.
    pub(crate) async fn wait_until_idle(&self, limit: Duration) -> usize {
        let mut running = self.0.subscribe();
        drop(tokio::time::timeout(limit, running.wait_for(|running| *running == 0)).await);
        *self.0.borrow()
    }
}
