//! WebSockets (RFC 6455): the opening handshake is forwarded, then bytes are copied in both directions.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Method};
use http_edge::PendingUpgrade;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional_with_sizes};
use tokio::time::{sleep, timeout};

use crate::permits::RequestPermit;

/// The size of the buffer of each direction.
const BUFFER_SIZE: usize = 8 << 10;
/// Time that both sides have to switch protocols after the response.
const SWITCH_TIMEOUT: Duration = Duration::from_secs(30);

/// The connection of a client that asks for a WebSocket.
pub(crate) type ClientUpgrade = PendingUpgrade;

/// Returns the connection of a request that opens a WebSocket.
///
/// Other protocols are not forwarded: their `Upgrade` is removed with the headers of the connection.
pub(crate) fn take_upgrade(request: &mut Request) -> Option<ClientUpgrade> {
    let is_websocket = *request.method() == Method::GET
        && request.headers().get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let pending = PendingUpgrade::take(request)?;
    is_websocket.then_some(pending)
}

/// Inserts the headers that ask the service for a WebSocket.
pub(crate) fn insert_request_headers(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
}

/// Inserts the headers with which the client's connection switches.
pub(crate) fn insert_response_headers(headers: &mut HeaderMap) {
    insert_request_headers(headers);
}

/// Copies bytes between client and service until one of them ends or both are silent for too long.
pub(crate) fn spawn_relay(client: ClientUpgrade, service: OnUpgrade, idle_timeout: Duration, permit: RequestPermit) {
    http_edge::spawn_task(async move {
        let _permit = permit;
        let both = async { tokio::join!(client.wait(), service) };
        let Ok((Some(client), Ok(service))) = timeout(SWITCH_TIMEOUT, both).await else {
            tracing::debug!("a connection ended before the protocol was switched");
            return;
        };
        let closing = client.closing();
        let traffic = Arc::<AtomicU64>::default();
        let mut client = CountedStream { inner: client, traffic: Arc::clone(&traffic) };
        let mut service = CountedStream { inner: TokioIo::new(service), traffic: Arc::clone(&traffic) };
        tokio::select! {
            copied = copy_bidirectional_with_sizes(&mut client, &mut service, BUFFER_SIZE, BUFFER_SIZE) => {
                if let Err(error) = copied {
                    tracing::debug!(%error, "a WebSocket ended early");
                }
            }
            () = wait_until_silent(&traffic, idle_timeout) => tracing::debug!("closing a silent WebSocket"),
            () = closing => {}
        }
    });
}

/// Waits until nothing was read for the time limit.
async fn wait_until_silent(traffic: &AtomicU64, limit: Duration) {
    loop {
        let before = traffic.load(Ordering::Relaxed);
        sleep(limit).await;
        if traffic.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

/// A stream that counts its reads.
struct CountedStream<S> {
    inner: S,
    traffic: Arc<AtomicU64>,
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_read(cx, buffer);
        if polled.is_ready() {
            this.traffic.fetch_add(1, Ordering::Relaxed);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
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
