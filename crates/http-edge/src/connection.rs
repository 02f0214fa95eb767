//! Serves one HTTP connection that keeps no buffers between requests: thousands may be idle.
//! The buffers of hyper (16 kB) live from the first byte of a request to the last of its response.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::response::Response;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;

use super::state::{ConnectionState, Phase};
use super::upgrade::UpgradedStream;

/// Bytes read before the buffers are allocated: a typical request without a body fits.
const FIRST_READ: usize = 1024;

/// Serves the requests of one connection until either side closes it.
/// After `closing` is true, the current request is the last. `answer` moves `state` from one phase to the next, as
/// [`super::service::answer`] does.
///
/// # Errors
/// The client disconnected during a request or did not speak HTTP.
pub(crate) async fn serve<S, A, F>(
    stream: S,
    state: Arc<ConnectionState>,
    mut closing: watch::Receiver<bool>,
    answer: A,
) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Fn(hyper::Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    // The stream applies the timeouts, because it distinguishes idle clients from slow ones.
    let mut http = http1::Builder::new();
    http.header_read_timeout(None);
    let answer = Arc::new(answer);
    let is_unflushed = Arc::<AtomicBool>::default();
    let mut stream = BufferedStream { inner: stream, unread: Bytes::new(), is_unflushed: Arc::clone(&is_unflushed) };
    loop {
        if stream.unread.is_empty() {
            let goes_on = tokio::select! {
                biased;
                // Polled first, so that a request that has arrived is answered and not reset.
                arrived = stream.wait_for_request() => arrived,
                _ = closing.wait_for(|closing| *closing) => false,
            };
            if !goes_on {
                drop(stream.shutdown().await);
                return Ok(());
            }
        }
        let answer = Arc::clone(&answer);
        let service = service_fn(move |request| {
            let answered = answer(request);
            async move { Ok::<_, Infallible>(answered.await) }
        });
        let (_, before) = state.phase();
        // Boxed, so that an idle connection is small.
        let mut connection = Box::new(http.serve_connection(TokioIo::new(stream), service));
        let mut until_rest = poll_fn(|cx| match Pin::new(&mut connection).poll(cx) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending if is_idle(&state, before, &is_unflushed) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        let served = tokio::select! {
            biased;
            served = &mut until_rest => Some(served),
            _ = closing.wait_for(|closing| *closing) => None,
        };
        match served {
            Some(Some(ended)) => {
                if let (Ok(()), Some(sender)) = (&ended, state.take_upgrade()) {
                    let parts = connection.into_parts();
                    let mut stream = parts.io.into_inner();
                    stream.prepend_unread(&parts.read_buf);
                    // The timeouts between requests do not apply to the other protocol.
                    state.enter(Phase::Busy);
                    drop(sender.send(UpgradedStream::new(stream, closing)));
                }
                return ended;
            }
            Some(None) => {
                let parts = connection.into_parts();
                stream = parts.io.into_inner();
                stream.prepend_unread(&parts.read_buf);
            }
            None => {
                Pin::new(&mut *connection).graceful_shutdown();
                return connection.await;
            }
        }
    }
}

/// Returns whether the connection is idle after a request and hyper holds nothing unread or unsent.
/// A request was answered since the phase `before`, all of it was read, and the whole response is sent. What hyper has
/// read of the next request is in the parts of the connection.
fn is_idle(state: &ConnectionState, before: u32, is_unflushed: &AtomicBool) -> bool {
    let (phase, now) = state.phase();
    let is_ending = state.should_linger() || state.has_upgrade();
    phase == Phase::Idle && now != before && !is_ending && !is_unflushed.load(Ordering::Acquire)
}

/// The stream, with bytes that were read from it and not consumed.
struct BufferedStream<S> {
    inner: S,
    unread: Bytes,
    /// Whether written bytes may be unsent, or the stream is closing.
    is_unflushed: Arc<AtomicBool>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> BufferedStream<S> {
    /// Waits for the first bytes of a request; returns false at the end of the stream.
    async fn wait_for_request(&mut self) -> bool {
        poll_fn(|cx| {
            let mut space = [MaybeUninit::uninit(); FIRST_READ];
            let mut buffer = ReadBuf::uninit(&mut space);
            let read = ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buffer));
            self.unread = Bytes::copy_from_slice(buffer.filled());
            Poll::Ready(read.is_ok() && !self.unread.is_empty())
        })
        .await
    }

    /// Puts bytes back in front of the unconsumed ones.
    ///
    /// They are copied: even an empty `Bytes` keeps the whole buffer that it was cut from.
    fn prepend_unread(&mut self, bytes: &[u8]) {
        self.unread = [bytes, &self.unread].concat().into();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BufferedStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.unread.is_empty() {
            return Pin::new(&mut this.inner).poll_read(cx, buffer);
        }
        let length = this.unread.len().min(buffer.remaining());
        buffer.put_slice(&this.unread.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BufferedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.is_unflushed.store(true, Ordering::Relaxed);
        Pin::new(&mut this.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.is_unflushed.store(true, Ordering::Relaxed);
        Pin::new(&mut this.inner).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    /// Hyper calls this after it has written all of a response.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = ready!(Pin::new(&mut this.inner).poll_flush(cx));
        this.is_unflushed.store(false, Ordering::Relaxed);
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.is_unflushed.store(true, Ordering::Relaxed);
        Pin::new(&mut this.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use axum::body::Body;
    use axum::extract::Request;
    use http_body_util::BodyExt;
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;
    use crate::{HttpLimits, service};

    const TEST_TIMEOUT: Duration = Duration::from_secs(30);
    const GET: &str = "GET /one HTTP/1.1\r\nHost: a\r\n\r\n";

    /// A stream that records the size of the buffer with which its reader waits.
    struct Measured {
        inner: DuplexStream,
        waits_with: Arc<AtomicUsize>,
    }

    impl AsyncRead for Measured {
        fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let this = self.get_mut();
            let room = buffer.remaining();
            let read = Pin::new(&mut this.inner).poll_read(cx, buffer);
            if read.is_pending() {
                this.waits_with.store(room, Ordering::Release);
            }
            read
        }
    }

    impl AsyncWrite for Measured {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.get_mut().inner).poll_flush(cx)
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
        }
    }

    struct Client {
        stream: DuplexStream,
        waits_with: Arc<AtomicUsize>,
        closing: watch::Sender<bool>,
        served: JoinHandle<hyper::Result<()>>,
    }

    /// Answers with the path, a space and the body; `/unread` leaves the body unread.
    async fn echo(request: Request) -> Response {
        let path = request.uri().path().to_owned();
        let body = match path.as_str() {
            "/unread" => Bytes::new(),
            _ => request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default(),
        };
        Response::new(Body::from(format!("{path} {}\n", String::from_utf8_lossy(&body))))
    }

    fn connect() -> Client {
        let (stream, inner) = duplex(64 * 1024);
        let waits_with = Arc::<AtomicUsize>::default();
        let (closing, is_closing) = watch::channel(false);
        let measured = Measured { inner, waits_with: Arc::clone(&waits_with) };
        let state = Arc::<ConnectionState>::default();
        let of_service = Arc::clone(&state);
        let answer = move |request| {
            let state = Arc::clone(&of_service);
            async move { service::answer(request, &HttpLimits::default(), state, echo).await }
        };
        let served = tokio::spawn(serve(measured, state, is_closing, answer));
        Client { stream, waits_with, closing, served }
    }

    impl Client {
        async fn send(&mut self, text: &str) {
            self.stream.write_all(text.as_bytes()).await.expect("send");
        }

        /// Reads until `text` has arrived `times` times.
        async fn receive(&mut self, text: &str, times: usize) -> String {
            let mut received = String::new();
            while received.matches(text).count() < times {
                let mut space = [0; 4096];
                let length =
                    timeout(TEST_TIMEOUT, self.stream.read(&mut space)).await.expect("data in time").expect("read");
                assert!(length > 0, "the connection ended after {received:?}");
                received.push_str(&String::from_utf8_lossy(&space[..length]));
            }
            received
        }

        async fn wait_until_idle(&self) {
            let resting = async {
                while self.waits_with.load(Ordering::Acquire) != FIRST_READ {
                    tokio::task::yield_now().await;
                }
            };
            timeout(TEST_TIMEOUT, resting).await.expect("the connection becomes idle");
        }
    }

    #[tokio::test]
    async fn idle_connection_has_no_buffers() {
        let mut client = connect();
        client.wait_until_idle().await;
        for _ in 0..3 {
            client.send("POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nh").await;
            while client.waits_with.load(Ordering::Acquire) == FIRST_READ {
                tokio::task::yield_now().await;
            }
            client.send("i").await;
            client.receive("/two hi\n", 1).await;
            client.wait_until_idle().await;
        }
    }

    #[tokio::test]
    async fn pipelined_requests_are_all_answered() {
        let mut client = connect();
        client.send(&GET.repeat(100)).await;
        client.receive("/one \n", 100).await;
        client.wait_until_idle().await;
    }

    #[tokio::test]
    async fn request_split_into_bytes_behind_another_is_answered() {
        let mut client = connect();
        client.send(&format!("{GET}{}", &GET[..5])).await;
        client.receive("/one \n", 1).await;
        for byte in GET[5..].split("").filter(|byte| !byte.is_empty()) {
            client.send(byte).await;
            tokio::task::yield_now().await;
        }
        client.receive("/one \n", 1).await;
    }

    #[tokio::test]
    async fn unread_body_is_not_parsed_as_request() {
        let mut client = connect();
        let length = GET.len() + 100_000;
        client.send(&format!("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")).await;
        client.receive("/unread \n", 1).await;
        drop(client.stream.write_all(GET.as_bytes()).await);
        let mut rest = String::new();
        drop(timeout(TEST_TIMEOUT, client.stream.read_to_string(&mut rest)).await.expect("the connection ends"));
        assert_eq!(rest, "");
    }

    #[tokio::test]
    async fn closing_answers_a_request_that_has_arrived() {
        let mut client = connect();
        client.wait_until_idle().await;
        client.send(GET).await;
        client.closing.send_replace(true);
        client.receive("/one \n", 1).await;
        timeout(TEST_TIMEOUT, client.served).await.expect("in time").expect("no panic").expect("no error");
    }

    #[tokio::test]
    async fn closing_ends_an_idle_connection() {
        let mut client = connect();
        client.send(GET).await;
        client.receive("/one \n", 1).await;
        client.wait_until_idle().await;
        client.closing.send_replace(true);
        timeout(TEST_TIMEOUT, client.served).await.expect("in time").expect("no panic").expect("no error");
    }

    #[tokio::test]
    async fn closing_waits_for_the_current_request() {
        let mut client = connect();
        client.wait_until_idle().await;
        client.send("POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n").await;
        while client.waits_with.load(Ordering::Acquire) == FIRST_READ {
            tokio::task::yield_now().await;
        }
        client.closing.send_replace(true);
        client.send("hi").await;
        client.receive("/two hi\n", 1).await;
        timeout(TEST_TIMEOUT, client.served).await.expect("in time").expect("no panic").expect("no error");
    }
}
