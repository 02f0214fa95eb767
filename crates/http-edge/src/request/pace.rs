//! Bodies that must arrive at a rate, so that a client cannot hold a request with a few bytes.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// How fast a body must arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The time that every body may take.
    pub grace: Duration,
    /// The rate at which a longer body must arrive on average, in bytes a second.
    pub min_rate: u64,
}

/// The pace of uploads: half a minute, or the rate of a modem.
pub const UPLOAD_PACE: Pace = Pace { grace: Duration::from_secs(30), min_rate: 4_096 };

impl Pace {
    /// Returns when more than `bytes` must have arrived of a body that was first awaited at `start`.
    pub fn deadline(&self, start: Instant, bytes: u64) -> Instant {
        start + self.grace + Duration::from_secs(bytes / self.min_rate)
    }
}

/// A body that fails when it arrives more slowly than it must.
pub struct PacedBody {
    inner: Body,
    pace: Pace,
    bytes: u64,
    /// When the body was first awaited, and the timer of its deadline.
    awaited: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl fmt::Debug for PacedBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PacedBody").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl PacedBody {
    /// Returns a body with the content of `inner`; one that has none stays as it is.
    pub fn wrap(inner: Body, pace: Pace) -> Body {
        if inner.is_end_stream() { inner } else { Body::new(Self { inner, pace, bytes: 0, awaited: None }) }
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        // First what has arrived: a server that reads late does not make its client slow.
        if let Poll::Ready(part) = Pin::new(&mut this.inner).poll_frame(cx) {
            if let Some(Ok(frame)) = &part {
                let length = frame.data_ref().map_or(0, Bytes::len);
                this.bytes += u64::try_from(length).unwrap_or(u64::MAX);
            }
            return Poll::Ready(part);
        }
        let (start, timer) = this.awaited.get_or_insert_with(|| {
            let start = Instant::now();
            (start, Box::pin(sleep_until(this.pace.deadline(start, 0))))
        });
        let deadline = this.pace.deadline(*start, this.bytes);
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(axum::Error::new(std::io::Error::other("the body arrives too slowly")))))
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
    use std::convert::Infallible;

    use futures::stream::{self, StreamExt};
    use http_body_util::BodyExt;

    use super::*;

    /// A body of this many parts of 100 bytes, one each 10 ms.
    fn body(parts: usize) -> Body {
        let parts = stream::iter(0..parts).then(|_| async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 100]))
        });
        Body::from_stream(parts)
    }

    #[tokio::test]
    async fn body_below_the_rate_fails_and_one_above_it_is_read() {
        let grace = Duration::from_millis(100);
        let slow = PacedBody::wrap(body(10_000), Pace { grace, min_rate: 1_000_000 });
        let read = tokio::time::timeout(Duration::from_secs(30), slow.collect()).await.expect("an end");
        assert_eq!(read.expect_err("too slow").to_string(), "the body arrives too slowly");
        let fast = PacedBody::wrap(body(30), Pace { grace: Duration::from_secs(30), min_rate: 1 });
        assert_eq!(fast.collect().await.expect("a body").to_bytes().len(), 3_000);
    }

    #[tokio::test]
    async fn late_reader_gets_what_has_arrived() {
        let mut paced = PacedBody::wrap(body(2), Pace { grace: Duration::from_millis(1), min_rate: 1 });
        let first = tokio::time::timeout(Duration::from_secs(30), paced.frame()).await.expect("an end");
        assert!(first.expect("a frame").is_err(), "it is awaited for longer than the grace");
        let mut paced = PacedBody::wrap(Body::from("abc"), Pace { grace: Duration::ZERO, min_rate: 1 });
        tokio::time::sleep(Duration::from_millis(5)).await;
        let frame = paced.frame().await.expect("a frame").expect("content");
        assert_eq!(frame.into_data().expect("data"), Bytes::from_static(b"abc"));
    }

    #[test]
    fn deadline_grows_with_what_has_arrived() {
        let start = Instant::now();
        assert_eq!(UPLOAD_PACE.deadline(start, 4_095), start + Duration::from_secs(30));
        assert_eq!(UPLOAD_PACE.deadline(start, 4_096 * 60), start + Duration::from_secs(90));
    }
}
