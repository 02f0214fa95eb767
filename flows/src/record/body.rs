//! Bodies that pass through the proxy part by part, of which the start is kept for the recording.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::exchange::RecordedBody;

/// The largest body that is recorded.
///
/// The picture of a TOTP secret has some hundred kilobytes in the reference.
const MAX_RECORDED: usize = 1 << 20;

/// What was kept of a body.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    size: u64,
}

/// What a body has let through so far.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyCopy(Arc<Mutex<Kept>>);

impl BodyCopy {
    fn add(&self, part: &Bytes) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.size += u64::try_from(part.len()).unwrap_or(u64::MAX);
        if kept.bytes.len() + part.len() <= MAX_RECORDED && kept.size <= u64::try_from(MAX_RECORDED).unwrap_or(u64::MAX)
        {
            kept.bytes.extend_from_slice(part);
        } else {
            kept.bytes = Vec::new();
        }
    }

    /// Takes the body, or its size if it was too large.
    pub(super) fn take(&self) -> RecordedBody {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.size > u64::try_from(MAX_RECORDED).unwrap_or(u64::MAX) {
            return RecordedBody::TooLarge(kept.size);
        }
        RecordedBody::Whole(std::mem::take(&mut kept.bytes))
    }
}

/// A body that is copied while it passes; `done` is dropped at its end.
pub(super) struct CopiedBody<B, D> {
    inner: B,
    copy: BodyCopy,
    done: Option<D>,
}

impl<B, D> CopiedBody<B, D> {
    pub(super) fn new(inner: B, copy: BodyCopy, done: D) -> Self {
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
        let polled = Pin::new(&mut this.inner).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(part) = frame.data_ref()
        {
            this.copy.add(part);
        }
        // The last part is recorded before the client can send its next request.
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) || this.inner.is_end_stream() {
            this.done = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
