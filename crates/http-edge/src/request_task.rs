//! Runs each request to its end: a client that disconnects does not cancel its request.
//!
//! A handler cancelled inside a transaction costs its database connection, which a client could cause on purpose
//! (`docs/decisions/0043-connections-of-unknown-state-are-closed.md`). Each request still has its deadline.

use std::any::Any;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures::FutureExt;
use futures::future::{BoxFuture, CatchUnwind};
use http::StatusCode;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// The running requests, including those of disconnected clients.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestTasks(Arc<Running>);

#[derive(Debug, Default)]
struct Running {
    count: AtomicUsize,
    /// Notified when the last running request has ended.
    idle: Notify,
}

impl RequestTasks {
    /// Runs a request to its end, even if the returned future is dropped.
    ///
    /// It runs in the task of its connection, which is faster than a task for each request, and from the drop on in a
    /// task of its own.
    pub(crate) async fn run(&self, answer: BoxFuture<'static, Response>) -> Response {
        let mut request = RunningRequest::new(answer, Arc::clone(&self.0));
        let outcome = poll_fn(|cx| request.answer.as_mut().expect("it is polled until it ends").poll_unpin(cx)).await;
        request.answer = None;
        outcome.unwrap_or_else(|payload| {
            log_panic(&*payload);
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        })
    }

    /// Waits until no request runs, for at most `limit`; returns the number that still run.
    pub(crate) async fn wait_until_idle(&self, limit: Duration) -> usize {
        let waiting = async {
            loop {
                let idle = self.0.idle.notified();
                if self.0.count.load(Ordering::Acquire) == 0 {
                    break;
                }
                idle.await;
            }
        };
        drop(tokio::time::timeout(limit, waiting).await);
        self.0.count.load(Ordering::Acquire)
    }
}

/// A running request. When dropped before its end, it goes on in a task of its own.
struct RunningRequest {
    /// `None` after the end.
    answer: Option<CatchUnwind<AssertUnwindSafe<BoxFuture<'static, Response>>>>,
    guard: Option<RunningGuard>,
}

impl RunningRequest {
    fn new(answer: BoxFuture<'static, Response>, running: Arc<Running>) -> Self {
        running.count.fetch_add(1, Ordering::AcqRel);
        Self { answer: Some(AssertUnwindSafe(answer).catch_unwind()), guard: Some(RunningGuard(running)) }
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let Some(answer) = self.answer.take() else { return };
        // Without a runtime the process is ending.
        if let (Some(guard), Ok(runtime)) = (self.guard.take(), Handle::try_current()) {
            runtime.spawn(async move {
                if let Err(payload) = answer.await {
                    log_panic(&*payload);
                }
                drop(guard);
            });
        }
    }
}

fn log_panic(payload: &(dyn Any + Send)) {
    tracing::error!(error = panic_message(payload), "request handler panicked");
}

/// Returns the message of a panic.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a text")
}

/// Counts a running request until dropped.
struct RunningGuard(Arc<Running>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn dropped_request_runs_to_its_end() {
        let tasks = RequestTasks::default();
        let (resume, resumed) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let mut running = Box::pin(tasks.run(Box::pin(async move {
            resumed.await.expect("the test resumes it");
            end.send(()).expect("the test waits for it");
            Response::new(Body::empty())
        })));
        assert!(running.as_mut().now_or_never().is_none());
        drop(running);
        assert_eq!(tasks.wait_until_idle(Duration::from_millis(10)).await, 1);
        resume.send(()).expect("it waits");
        ended.await.expect("it goes on");
        assert_eq!(tasks.wait_until_idle(Duration::from_secs(10)).await, 0);
    }

    #[tokio::test]
    async fn panic_is_answered_and_counted_once() {
        let tasks = RequestTasks::default();
        let response = tasks.run(Box::pin(async { panic!("a handler") })).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(tasks.wait_until_idle(Duration::from_secs(10)).await, 0);
    }

    #[tokio::test]
    async fn panic_of_a_dropped_request_ends_its_count() {
        let tasks = RequestTasks::default();
        let (resume, resumed) = oneshot::channel::<()>();
        let mut running = Box::pin(tasks.run(Box::pin(async move {
            drop(resumed.await);
            panic!("a handler")
        })));
        assert!(running.as_mut().now_or_never().is_none());
        drop(running);
        drop(resume);
        assert_eq!(tasks.wait_until_idle(Duration::from_secs(10)).await, 0);
    }

    #[test]
    fn request_that_is_dropped_without_a_runtime_ends() {
        let tasks = RequestTasks::default();
        let mut running = Box::pin(tasks.run(Box::pin(std::future::pending())));
        assert!(running.as_mut().now_or_never().is_none());
        drop(running);
        assert_eq!(tasks.0.count.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn idle_is_reported_after_the_last_request() {
        let tasks = RequestTasks::default();
        let (resume, resumed) = oneshot::channel::<()>();
        let slow = tasks.run(Box::pin(async move {
            drop(resumed.await);
            Response::new(Body::empty())
        }));
        let waiting = async {
            tokio::task::yield_now().await;
            drop(resume);
            tasks.wait_until_idle(Duration::from_secs(10)).await
        };
        let (response, running) = tokio::join!(slow, waiting);
        assert_eq!((response.status(), running), (StatusCode::OK, 0));
    }
}
