//! Bodies at the edge: timeouts for request bodies, and response bodies that end the request.

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

/// Shared slot that receives the unread part of a request's body.
pub(crate) type UnreadSlot = Arc<Mutex<UnreadBody>>;

/// How much of a request's body is unread.
#[derive(Debug, Default)]
pub(crate) enum UnreadBody {
    /// The handler still holds the body.
    #[default]
    InHandler,
    /// The body was read to its end.
    Complete,
    /// The unread remainder.
    Remaining(Incoming),
    /// The remainder cannot be read any more.
    Unreadable,
}

/// A request's body; yields an error once no part arrives within the limit.
#[derive(Debug)]
pub(crate) struct TimedBody {
    inner: Option<Incoming>,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    unread_slot: UnreadSlot,
}

impl TimedBody {
    /// Wraps a body; its unread part is stored in `returned` when it is dropped.
    pub(crate) fn wrap(inner: Incoming, limit: Duration, returned: &UnreadSlot) -> Body {
        if inner.is_end_stream() {
            store_unread_body(returned, UnreadBody::Complete);
            return Body::empty();
        }
        Body::new(Self { inner: Some(inner), limit, timer: None, unread_slot: Arc::clone(returned) })
    }

    fn store_unread(&self, unread: UnreadBody) {
        store_unread_body(&self.unread_slot, unread);
    }
}

fn store_unread_body(returned: &UnreadSlot, unread: UnreadBody) {
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
                this.store_unread(UnreadBody::Unreadable);
                Poll::Ready(Some(Err("the request's body stopped arriving".into())))
            }
            Poll::Ready(part) => {
                this.timer = None;
                if !matches!(part, Some(Ok(_))) {
                    this.inner = None;
                    this.store_unread(if part.is_none() { UnreadBody::Complete } else { UnreadBody::Unreadable });
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
            self.store_unread(if rest.is_end_stream() { UnreadBody::Complete } else { UnreadBody::Remaining(rest) });
        }
    }
}

/// A response's body: when it is dropped, sent or not, the connection becomes idle.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    inner: Body,
    state: Arc<ConnectionState>,
}

impl ResponseBody {
    /// Wraps the body of a response on the connection of `state`.
    pub(crate) fn new(inner: Body, state: Arc<ConnectionState>) -> Self {
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
