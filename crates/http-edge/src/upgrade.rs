//! Connections whose protocol a handler switches (RFC 9110 §7.8), such as to WebSocket.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::extract::Request;
use http::header::UPGRADE;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{oneshot, watch};

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The stream of a client after the response `101 Switching Protocols`.
pub struct UpgradedStream {
    inner: Box<dyn Stream>,
    closing: watch::Receiver<bool>,
}

/// Receives the stream of a client; an extension of every request with the header `Upgrade`.
///
/// A handler that responds with 101 gets the stream; after any other response the connection serves further requests.
#[derive(Debug, Clone)]
pub struct PendingUpgrade(Arc<Mutex<Option<oneshot::Receiver<UpgradedStream>>>>);

/// Sends the stream of a client to the handler.
pub(crate) type UpgradeSender = oneshot::Sender<UpgradedStream>;

/// Inserts a [`PendingUpgrade`] into a request that asks for another protocol.
pub(crate) fn offer<B>(request: &mut http::Request<B>) -> Option<UpgradeSender> {
    request.headers().contains_key(UPGRADE).then(|| {
        let (sender, receiver) = oneshot::channel();
        request.extensions_mut().insert(PendingUpgrade(Arc::new(Mutex::new(Some(receiver)))));
        sender
    })
}

impl PendingUpgrade {
    /// Takes the upgrade that a request asks for.
    pub fn take(request: &mut Request) -> Option<Self> {
        request.extensions_mut().remove()
    }

    /// Waits for the stream.
    /// `None` if the connection ends before the response is sent, or if it is taken already.
    pub async fn wait(self) -> Option<UpgradedStream> {
        let receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        receiver?.await.ok()
    }
}

impl UpgradedStream {
    pub(crate) fn new(
        inner: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        closing: watch::Receiver<bool>,
    ) -> Self {
        Self { inner: Box::new(inner), closing }
    }

    /// Waits until the server shuts down; it waits for the stream to be dropped.
    pub fn closing(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut closing = self.closing.clone();
        async move { drop(closing.wait_for(|closing| *closing).await) }
    }
}

impl fmt::Debug for UpgradedStream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("UpgradedStream(…)")
    }
}

impl AsyncRead for UpgradedStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(cx, buffer)
    }
}

impl AsyncWrite for UpgradedStream {
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
