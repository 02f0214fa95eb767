//! The stream of one connection, with timeouts that depend on its phase.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::admission::ConnectionPermit;
use super::limits::HttpLimits;
use super::state::{ConnectionState, Phase};
use super::target::TargetEncoder;
use super::transport::Transport;

/// How long a client may keep sending while its connection is being closed.
const LINGER_TIMEOUT: Duration = Duration::from_secs(10);
/// How many bytes it may send in that time.
const LINGER_MAX_BYTES: usize = 32 << 20;
/// How long it may send nothing in that time.
const LINGER_IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// The response to a client whose request did not arrive in time.
const REQUEST_TIMEOUT_RESPONSE: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A stream that ends when a request is late, and fails when a response is not accepted in time.
/// If it is closed before all of a request was read, it reads on for a while: otherwise the system resets the
/// connection, and the client loses the response.
pub(crate) struct EdgeStream {
    inner: Transport,
    state: Arc<ConnectionState>,
    limits: Arc<HttpLimits>,
    /// The timer of the phase with that number.
    read_timer: Option<(u32, Pin<Box<Sleep>>)>,
    write_timer: Option<Pin<Box<Sleep>>>,
    linger: Option<Lingering>,
    targets: Option<TargetEncoder>,
    _permit: ConnectionPermit,
}

struct Lingering {
    left: usize,
    end: Instant,
    pause: Pin<Box<Sleep>>,
}

impl EdgeStream {
    /// Wraps the stream of an admitted connection.
    pub(crate) fn new(
        inner: Transport,
        permit: ConnectionPermit,
        limits: Arc<HttpLimits>,
        state: Arc<ConnectionState>,
    ) -> Self {
        let targets = limits.encodes_targets.then(TargetEncoder::default);
        Self { inner, state, limits, read_timer: None, write_timer: None, linger: None, targets, _permit: permit }
    }

    /// Becomes ready when the phase has lasted too long; answering a request has no limit here.
    ///
    /// While the client has not accepted the whole response, only the time limit of writes applies.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<Phase> {
        if self.write_timer.is_some() {
            self.read_timer = None;
            return Poll::Pending;
        }
        let (phase, number) = self.state.phase();
        let limit = match phase {
            Phase::Idle => self.limits.idle_timeout,
            Phase::Head => self.limits.header_timeout,
            Phase::Busy => return Poll::Pending,
        };
        if self.read_timer.as_ref().is_none_or(|(of, _)| *of != number) {
            match &mut self.read_timer {
                Some((of, timer)) => {
                    *of = number;
                    timer.as_mut().reset(Instant::now() + limit);
                }
                none => *none = Some((number, Box::pin(sleep(limit)))),
            }
        }
        match &mut self.read_timer {
            Some((_, timer)) => timer.as_mut().poll(cx).map(|()| phase),
            None => Poll::Pending,
        }
    }

    /// Returns the outcome of a write, or an error if writes have made no progress for too long.
    fn poll_write_timeout<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.write_timer = None;
            return outcome;
        }
        let limit = self.limits.write_timeout;
        ready!(self.write_timer.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }

    /// Reads and discards remaining input until it ends or a limit is reached.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(lingering) = &mut self.linger else { return Poll::Ready(()) };
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
                    lingering.pause.as_mut().reset((now + LINGER_IDLE_TIMEOUT).min(lingering.end));
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
        let pending = this.targets.as_mut().map(|targets| targets.take_pending(buffer.remaining()));
        if let Some(pending) = pending.filter(|pending| !pending.is_empty()) {
            buffer.put_slice(&pending);
            return Poll::Ready(Ok(()));
        }
        let read = Pin::new(&mut this.inner).poll_read(cx, buffer);
        if read.is_ready() {
            if buffer.filled().len() > before && this.state.phase().0 == Phase::Idle {
                this.state.enter(Phase::Head);
                if let Some(targets) = &mut this.targets {
                    targets.begin();
                }
            }
            if let Some(targets) = &mut this.targets {
                let capacity = buffer.filled().len() - before + buffer.remaining();
                if let Some(encoded) = targets.encode(&buffer.filled()[before..], capacity) {
                    buffer.set_filled(before);
                    buffer.put_slice(&encoded);
                }
            }
            return read;
        }
        if ready!(this.poll_timeout(cx)) == Phase::Head {
            this.inner.try_write(REQUEST_TIMEOUT_RESPONSE);
        }
        // An empty read is the end of the stream: hyper closes the connection.
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for EdgeStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write(cx, bytes);
        this.poll_write_timeout(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write_vectored(cx, parts);
        this.poll_write_timeout(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.inner).poll_flush(cx);
        let flushed = ready!(this.poll_write_timeout(cx, flushed));
        if this.read_timer.is_none() && this.poll_timeout(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.inner).poll_shutdown(cx))?;
            if !this.state.should_linger() && !this.inner.poll_unread(cx) {
                return Poll::Ready(Ok(()));
            }
            let end = Instant::now() + LINGER_TIMEOUT;
            this.linger = Some(Lingering { left: LINGER_MAX_BYTES, end, pause: Box::pin(sleep(LINGER_IDLE_TIMEOUT)) });
        }
        this.poll_linger(cx).map(Ok)
    }
}
