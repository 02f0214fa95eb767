//! The stream of one connection, with limits of time by its phase.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::admission::Permit;
use super::limits::HttpLimits;
use super::state::{ConnectionState, Phase};

/// How long a client that is to be closed may send on.
const LINGERING: Duration = Duration::from_secs(10);
/// How much it may send on.
const LINGERING_BYTES: usize = 32 << 20;
/// How long a client that is to be closed may be silent.
const LINGERING_PAUSE: Duration = Duration::from_secs(2);

/// What a client is told whose request did not arrive in time.
const TOO_SLOW: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A stream that ends when a request does not come in time, and fails when a response is not taken in time. Closed before
/// all of a request was read, it reads on for a while: otherwise the system resets the connection, and the client loses the
/// response.
pub struct EdgeStream {
    inner: TcpStream,
    state: Arc<ConnectionState>,
    limits: Arc<HttpLimits>,
    /// Of the phase with that number.
    reading: Option<(u32, Pin<Box<Sleep>>)>,
    writing: Option<Pin<Box<Sleep>>>,
    lingering: Option<Lingering>,
    _permit: Permit,
}

struct Lingering {
    left: usize,
    end: Instant,
    pause: Pin<Box<Sleep>>,
}

impl EdgeStream {
    /// The stream of a connection that was admitted.
    pub fn new(inner: TcpStream, permit: Permit, limits: Arc<HttpLimits>, state: Arc<ConnectionState>) -> Self {
        Self { inner, state, limits, reading: None, writing: None, lingering: None, _permit: permit }
    }

    /// Ready once the phase has lasted for too long. A request that is being answered has no limit here.
    fn poll_too_late(&mut self, cx: &mut Context<'_>) -> Poll<Phase> {
        let (phase, number) = self.state.phase();
        let limit = match phase {
            Phase::Idle => self.limits.idle_timeout,
            Phase::Head => self.limits.header_timeout,
            Phase::Busy => return Poll::Pending,
        };
        if self.reading.as_ref().is_none_or(|(of, _)| *of != number) {
            match &mut self.reading {
                Some((of, timer)) => {
                    *of = number;
                    timer.as_mut().reset(Instant::now() + limit);
                }
                none => *none = Some((number, Box::pin(sleep(limit)))),
            }
        }
        match &mut self.reading {
            Some((_, timer)) => timer.as_mut().poll(cx).map(|()| phase),
            None => Poll::Pending,
        }
    }

    /// The outcome of a write, or an error once none has had one for too long.
    fn timed<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.writing = None;
            return outcome;
        }
        let limit = self.limits.write_timeout;
        ready!(self.writing.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }

    /// Whether the client has sent something that nobody has read.
    fn poll_unread(&mut self, cx: &mut Context<'_>) -> bool {
        let mut byte = [MaybeUninit::uninit(); 1];
        let mut buffer = ReadBuf::uninit(&mut byte);
        matches!(self.inner.poll_peek(cx, &mut buffer), Poll::Ready(Ok(1..)))
    }

    /// Reads what the client still sends, until it ends or the limits are reached.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(lingering) = &mut self.lingering else { return Poll::Ready(()) };
        let mut space = [MaybeUninit::uninit(); 16 << 10];
        loop {
            let mut buffer = ReadBuf::uninit(&mut space);
            match Pin::new(&mut self.inner).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    lingering.left = lingering.left.saturating_sub(buffer.filled().len());
                    let now = Instant::now();
                    if lingering.left == 0 || now >= lingering.end {
                        return Poll::Ready(());
                    }
                    lingering.pause.as_mut().reset((now + LINGERING_PAUSE).min(lingering.end));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return lingering.pause.as_mut().poll(cx),
            }
        }
    }
}

impl AsyncRead for EdgeStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.inner).poll_read(cx, buffer);
        if read.is_ready() {
            if buffer.filled().len() > before && this.state.phase().0 == Phase::Idle {
                this.state.enter(Phase::Head);
            }
            return read;
        }
        if ready!(this.poll_too_late(cx)) == Phase::Head {
            let _ = this.inner.try_write(TOO_SLOW);
        }
        // The end of the stream: hyper closes the connection.
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for EdgeStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write(cx, bytes);
        this.timed(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write_vectored(cx, parts);
        this.timed(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.lingering.is_none() {
            ready!(Pin::new(&mut this.inner).poll_shutdown(cx))?;
            if !this.state.lingers() && !this.poll_unread(cx) {
                return Poll::Ready(Ok(()));
            }
            let end = Instant::now() + LINGERING;
            this.lingering = Some(Lingering { left: LINGERING_BYTES, end, pause: Box::pin(sleep(LINGERING_PAUSE)) });
        }
        this.poll_linger(cx).map(Ok)
    }
}
