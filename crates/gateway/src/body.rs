//! Bodies of forwarded requests and responses, which are streamed part by part.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_edge::request::UPLOAD_PACE;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::{Instant, sleep_until};

use crate::permits::RequestPermit;

/// How far the body of a request has been read.
#[derive(Debug, Default)]
pub(crate) struct UploadProgress {
    frames: AtomicU64,
    bytes: AtomicU64,
    has_ended: AtomicBool,
    has_failed: AtomicBool,
}

impl UploadProgress {
    /// Returns the number of parts that were read.
    pub(crate) fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Waits until the body, of which the first part was awaited at `start`, arrives more slowly than it must.
    pub(crate) async fn wait_until_too_slow(&self, start: Instant) {
        loop {
            let bytes = self.bytes.load(Ordering::Relaxed);
            let deadline = UPLOAD_PACE.deadline(start, bytes);
            sleep_until(deadline).await;
            if self.has_ended.load(Ordering::Relaxed) {
                return std::future::pending().await;
            }
            if UPLOAD_PACE.deadline(start, self.bytes.load(Ordering::Relaxed)) == deadline {
                return;
            }
        }
    }

    /// Returns whether the client did not send the whole body.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

/// The body of a request, which counts its parts.
#[derive(Debug)]
pub(crate) struct RequestBody {
    inner: Body,
    progress: Arc<UploadProgress>,
}

impl RequestBody {
    /// Wraps a body; `progress` counts its parts.
    pub(crate) fn new(inner: Body, progress: Arc<UploadProgress>) -> Self {
        progress.has_ended.store(inner.is_end_stream(), Ordering::Relaxed);
        Self { inner, progress }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_frame(cx);
        if let Poll::Ready(part) = &polled {
            this.progress.frames.fetch_add(1, Ordering::Relaxed);
            match part {
                Some(Ok(frame)) => {
                    let length = frame.data_ref().map_or(0, Bytes::len);
                    this.progress.bytes.fetch_add(u64::try_from(length).unwrap_or(u64::MAX), Ordering::Relaxed);
                }
                Some(Err(_)) => this.progress.has_failed.store(true, Ordering::Relaxed),
                None => {}
            }
            if part.is_none() || this.inner.is_end_stream() {
                this.progress.has_ended.store(true, Ordering::Relaxed);
            }
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

/// The body of a response, which counts as a request until its end.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    inner: Incoming,
    _permit: RequestPermit,
}

impl ResponseBody {
    pub(crate) fn wrap(inner: Incoming, permit: RequestPermit) -> Body {
        if inner.is_end_stream() { Body::empty() } else { Body::new(Self { inner, _permit: permit }) }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.get_mut().inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Returns whether a body whose first part was awaited so long ago is too slow by now.
    async fn is_too_slow_after(progress: &UploadProgress, waited: Duration) -> bool {
        let start = Instant::now().checked_sub(waited).expect("an earlier time");
        tokio::time::timeout(Duration::from_millis(100), progress.wait_until_too_slow(start)).await.is_ok()
    }

    #[tokio::test]
    async fn bodies_must_arrive_at_a_least_rate() {
        let progress = UploadProgress::default();
        assert!(!is_too_slow_after(&progress, Duration::from_secs(25)).await);
        assert!(is_too_slow_after(&progress, Duration::from_secs(31)).await);
        progress.bytes.store(60 * UPLOAD_PACE.min_rate, Ordering::Relaxed);
        assert!(!is_too_slow_after(&progress, Duration::from_secs(85)).await, "at the rate");
        assert!(is_too_slow_after(&progress, Duration::from_secs(91)).await);
    }

    #[tokio::test]
    async fn body_that_has_arrived_is_not_too_slow() {
        let progress = Arc::<UploadProgress>::default();
        let _body = RequestBody::new(Body::empty(), Arc::clone(&progress));
        assert!(!is_too_slow_after(&progress, Duration::from_mins(10)).await);
    }
}
