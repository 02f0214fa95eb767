//! Bodies of forwarded requests and responses, which are streamed part by part.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

/// How far the body of a request has been read.
#[derive(Debug, Default)]
pub(crate) struct UploadProgress {
    frames: AtomicU64,
    has_failed: AtomicBool,
}

impl UploadProgress {
    /// Returns the number of parts that were read.
    pub(crate) fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
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
            if matches!(part, Some(Err(_))) {
                this.progress.has_failed.store(true, Ordering::Relaxed);
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
    _permit: OwnedSemaphorePermit,
}

impl ResponseBody {
    /// Wraps the body of a response.
    pub(crate) fn wrap(inner: Incoming, permit: OwnedSemaphorePermit) -> Body {
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
