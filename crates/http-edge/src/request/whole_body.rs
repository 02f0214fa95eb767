//! Reads the whole body of a request, limited in size and time.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

/// Time limit of a whole body: that of a request to the auth API, by default.
pub const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    /// It is larger than the limit.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The connection ended before the body did.
    Incomplete,
}

impl BodyError {
    /// Returns the status of the response: 413, 408 (RFC 9110 §15.5.9) or 400.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Incomplete => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a body of at most `max_bytes` that arrives within `deadline`, usually [`BODY_DEADLINE`].
///
/// # Errors
///
/// The body exceeds a limit, or the connection ends first.
pub async fn read_body(body: Body, max_bytes: usize, deadline: Duration) -> Result<Bytes, BodyError> {
    match timeout(deadline, Limited::new(body, max_bytes).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
        Ok(Err(_)) => Err(BodyError::Incomplete),
        Err(_) => Err(BodyError::TooSlow),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream::{self, StreamExt};

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    /// A body of one byte per millisecond that never ends.
    fn dripping_body() -> Body {
        let bytes = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok::<_, Infallible>(Bytes::from_static(b" "))
        });
        Body::from_stream(bytes)
    }

    #[tokio::test]
    async fn body_that_never_ends_is_refused_at_the_deadline() {
        let read = timeout(SOON * 100, read_body(dripping_body(), 1 << 20, SOON)).await;
        assert_eq!(read, Ok(Err(BodyError::TooSlow)));
    }

    #[tokio::test]
    async fn body_is_read_up_to_its_limit_of_size() {
        assert_eq!(read_body(Body::from("abc"), 3, SOON * 100).await, Ok(Bytes::from_static(b"abc")));
        assert_eq!(read_body(Body::from("abcd"), 3, SOON * 100).await, Err(BodyError::TooLarge));
    }

    #[tokio::test]
    async fn body_of_a_broken_connection_is_incomplete() {
        let broken = Body::from_stream(stream::once(async { Err::<Bytes, _>(std::io::Error::other("reset")) }));
        assert_eq!(read_body(broken, 3, SOON * 100).await, Err(BodyError::Incomplete));
    }
}
