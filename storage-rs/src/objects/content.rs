//! The content of a request as the backend takes it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};

use crate::backend::{Content, ContentError};

/// The content of a body, of at most this many bytes.
pub(crate) fn body_content(body: Body, limit: u64) -> Content {
    let parts = body.into_data_stream().map_err(|error| {
        tracing::debug!(%error, "the body of an upload ended early");
        ContentError::Incomplete
    });
    LimitedContent::new(parts, limit).boxed()
}

/// Content that fails as soon as it is larger than allowed.
#[derive(Debug)]
pub(crate) struct LimitedContent<S> {
    inner: S,
    left: u64,
}

impl<S> LimitedContent<S> {
    /// Content of at most this many bytes.
    pub(crate) fn new(inner: S, limit: u64) -> Self {
        Self { inner, left: limit }
    }
}

impl<S: Stream<Item = Result<Bytes, ContentError>> + Unpin> Stream for LimitedContent<S> {
    type Item = Result<Bytes, ContentError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let part = std::task::ready!(self.inner.poll_next_unpin(context));
        let Some(Ok(bytes)) = part else { return Poll::Ready(part) };
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match self.left.checked_sub(length) {
            Some(left) => {
                self.left = left;
                Poll::Ready(Some(Ok(bytes)))
            }
            None => Poll::Ready(Some(Err(ContentError::TooLarge))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn content_beyond_the_limit_fails() {
        let read = async |limit| {
            let parts = ["abc", "de"].map(|part| Ok::<_, ContentError>(Bytes::from_static(part.as_bytes())));
            LimitedContent::new(futures::stream::iter(parts), limit).try_collect::<Vec<_>>().await
        };
        assert_eq!(read(5).await.unwrap().concat(), b"abcde");
        assert!(matches!(read(4).await, Err(ContentError::TooLarge)));
    }
}
