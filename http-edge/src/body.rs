//! Bodies at the edge: a request's, whose parts must keep coming, and a response's, whose end ends the request.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use super::state::{ConnectionState, Phase};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request's body that was not read to its end comes back here.
pub type Returned = Arc<Mutex<Unread>>;

/// What is left of a request's body.
#[derive(Debug, Default)]
pub enum Unread {
    /// A handler has it.
    #[default]
    Held,
    /// Nothing: it was read to its end.
    Nothing,
    /// This.
    Rest(Incoming),
    /// Something that nobody can read any more.
    Lost,
}

/// A request's body. An error once no part has come for longer than the limit.
#[derive(Debug)]
pub struct TimedBody {
    inner: Option<Incoming>,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    returned: Returned,
}

impl TimedBody {
    /// The body, which comes back to `returned` when it is dropped.
    pub fn wrap(inner: Incoming, limit: Duration, returned: &Returned) -> Body {
        if inner.is_end_stream() {
            give_back(returned, Unread::Nothing);
            return Body::empty();
        }
        Body::new(Self { inner: Some(inner), limit, timer: None, returned: Arc::clone(returned) })
    }

    fn give_back(&self, unread: Unread) {
        give_back(&self.returned, unread);
    }
}

fn give_back(returned: &Returned, unread: Unread) {
    *returned.lock().unwrap_or_else(PoisonError::into_inner) = unread;
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        match Pin::new(inner).poll_frame(cx) {
            Poll::Pending => {
                let limit = this.limit;
                let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
                ready!(timer.as_mut().poll(cx));
                this.inner = None;
                this.give_back(Unread::Lost);
                Poll::Ready(Some(Err("the request's body stopped arriving".into())))
            }
            Poll::Ready(part) => {
                this.timer = None;
                if !matches!(part, Some(Ok(_))) {
                    this.inner = None;
                    this.give_back(if part.is_none() { Unread::Nothing } else { Unread::Lost });
                }
                Poll::Ready(part.map(|part| part.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        if let Some(rest) = self.inner.take() {
            self.give_back(if rest.is_end_stream() { Unread::Nothing } else { Unread::Rest(rest) });
        }
    }
}

/// A response's body: the connection is idle once it has been sent or given up.
#[derive(Debug)]
pub struct ResponseBody {
    inner: Body,
    state: Arc<ConnectionState>,
}

impl ResponseBody {
    /// The body of a response on the connection.
    pub fn new(inner: Body, state: Arc<ConnectionState>) -> Self {
        Self { inner, state }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.state.enter(Phase::Idle);
    }
}
