//! The body of a form, of which the parser gets no more than it can use.
//!
//! The parser takes as much as is there at once, and keeps the head of a part and what stands before the first one until they
//! are complete. So it gets few bytes at a time, and an error if it uses none of many.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures::{Stream, StreamExt};

/// The bytes that the parser gets at once.
const PORTION: usize = 256 * 1024;
/// The most bytes that it may have without using any.
const MAXIMUM_UNUSED: usize = 1024 * 1024;

/// The head of a part is too long.
#[derive(Debug, thiserror::Error)]
#[error("the head of a part is too long")]
pub(crate) struct LongPartHead;

/// The bytes that the parser got and of which it used none. The reader of the form says when it used some.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unused(Arc<AtomicUsize>);

impl Unused {
    /// Notes that the parser used what it has.
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn are_too_many(&self) -> bool {
        self.0.load(Ordering::Relaxed) > MAXIMUM_UNUSED
    }
}

/// The body of a form.
#[derive(Debug)]
pub(crate) struct FormBody {
    inner: BodyDataStream,
    unused: Unused,
    /// The bytes since the parser was last made to look at what it has.
    portion: usize,
}

impl FormBody {
    pub(crate) fn new(body: Body, unused: Unused) -> Self {
        Self { inner: body.into_data_stream(), unused, portion: 0 }
    }
}

impl Stream for FormBody {
    type Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.portion >= PORTION {
            self.portion = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.unused.are_too_many() {
            return Poll::Ready(Some(Err(LongPartHead.into())));
        }
        let bytes = match std::task::ready!(self.inner.poll_next_unpin(context)) {
            Some(Ok(bytes)) => bytes,
            Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            None => return Poll::Ready(None),
        };
        self.portion += bytes.len();
        self.unused.add(bytes.len());
        Poll::Ready(Some(Ok(bytes)))
    }
}
