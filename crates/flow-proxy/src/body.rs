//! Bodies that pass through the proxy part by part, of which the start is kept for the recording.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::capture::CapturedBody;

/// The largest body that is recorded.
///
/// The picture of a TOTP secret has some hundred kilobytes in the reference.
const MAX_RECORDED: u64 = 1 << 20;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What was kept of a body.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    size: u64,
    /// The size that its headers announce.
    announced: Option<u64>,
    is_whole: bool,
}

/// What a body has let through so far.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyCopy(Arc<Mutex<Kept>>);

impl BodyCopy {
    fn change(&self, change: impl FnOnce(&mut Kept)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn add(&self, part: &Bytes) {
        self.change(|kept| {
            kept.size = kept.size.saturating_add(part.len().try_into().unwrap_or(u64::MAX));
            if kept.size <= MAX_RECORDED {
                kept.bytes.extend_from_slice(part);
            } else {
                kept.bytes = Vec::new();
            }
        });
    }

    /// Notes that the body has no further part.
    pub(super) fn finish(&self) {
        self.change(|kept| kept.is_whole = true);
    }

    /// Takes the body, or its size if it was too large; `None` if it ended early.
    pub(super) fn take(&self) -> Option<CapturedBody> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = kept.announced.unwrap_or_default().max(kept.size);
        if size > MAX_RECORDED {
            return Some(CapturedBody::TooLarge(size));
        }
        let is_whole = kept.is_whole || kept.announced == Some(kept.size);
        is_whole.then(|| CapturedBody::Whole(std::mem::take(&mut kept.bytes)))
    }
}

/// A body that is copied while it passes; `done` is dropped at its end.
pub(super) struct CopiedBody<B, D> {
    inner: B,
    copy: BodyCopy,
    done: Option<D>,
}

impl<B: HttpBody, D> CopiedBody<B, D> {
    pub(super) fn new(inner: B, copy: BodyCopy, done: D) -> Self {
        let announced = inner.size_hint().exact();
        copy.change(|kept| kept.announced = announced);
        Self { inner, copy, done: Some(done) }
    }
}

impl<B, D> HttpBody for CopiedBody<B, D>
where
    B: HttpBody<Data = Bytes> + Unpin,
    D: Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        let polled = ready!(Pin::new(&mut this.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &polled
            && let Some(part) = frame.data_ref()
        {
            this.copy.add(part);
        }
        let has_failed = matches!(polled, Some(Err(_)));
        // The body is dropped after its trailers, without another poll.
        let has_trailers = matches!(&polled, Some(Ok(frame)) if frame.is_trailers());
        let has_ended = polled.is_none() || has_trailers || this.inner.is_end_stream();
        if has_ended && !has_failed {
            this.copy.finish();
        }
        // The last part is recorded before the client can send its next request.
        if has_ended || has_failed {
            this.done = None;
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a server's response; yields an error once no part arrives within the limit.
///
/// Streams of functions have no limit on the whole.
pub(super) struct LimitedBody<B> {
    inner: B,
    limit: Duration,
    /// The time that is left while a part is awaited.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<B> LimitedBody<B> {
    pub(super) fn new(inner: B, limit: Duration) -> Self {
        Self { inner, limit, timer: None }
    }
}

impl<B> HttpBody for LimitedBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(part) = Pin::new(&mut this.inner).poll_frame(cx) {
            this.timer = None;
            return Poll::Ready(part.map(|part| part.map_err(Into::into)));
        }
        let limit = this.limit;
        ready!(this.timer.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx));
        tracing::warn!(?limit, "the recorded server has stopped in the middle of a response");
        Poll::Ready(Some(Err("the recorded server has stopped in the middle of its response".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
