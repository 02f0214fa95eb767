//! Connections to the server, which stay open between requests.
//!
//! A request is handed to a connection without a general client in between.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::Response;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// How long an idle connection is used: shorter than servers and gateways keep it.
const IDLE_LIMIT: Duration = Duration::from_secs(20);
/// The most idle connections.
const MAX_IDLE: usize = 64;

/// An error of a connection.
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The stream of a connection to a server.
pub(super) trait ServerStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ServerStream for S {}

pub(super) type ConnectServer =
    Box<dyn Fn() -> BoxFuture<'static, Result<Box<dyn ServerStream>, BoxError>> + Send + Sync>;

/// The connections to one server.
pub(super) struct ServerConnections {
    connect: ConnectServer,
    idle: IdleConnections,
}

/// A connection without a request.
struct IdleConnection {
    sender: SendRequest<Body>,
    since: Instant,
}

/// The connections without a request, the one used last at the end.
#[derive(Clone, Default)]
struct IdleConnections(Arc<Mutex<Vec<IdleConnection>>>);

impl IdleConnections {
    fn take(&self) -> Option<SendRequest<Body>> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let IdleConnection { sender, since } = idle.pop()?;
        if since.elapsed() < IDLE_LIMIT {
            return Some(sender);
        }
        // The others have been idle for longer.
        idle.clear();
        None
    }

    fn add(&self, sender: SendRequest<Body>) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connection| !connection.sender.is_closed() && connection.since.elapsed() < IDLE_LIMIT);
        if idle.len() < MAX_IDLE {
            idle.push(IdleConnection { sender, since: Instant::now() });
        }
    }
}

impl ServerConnections {
    /// Creates the set of connections, which is empty.
    pub(super) fn new(connect: ConnectServer) -> Self {
        Self { connect, idle: IdleConnections::default() }
    }

    /// Sends a request, whose URI is path and query, and returns its response when the head has arrived.
    ///
    /// The connection is closed if the future or the body is dropped before the end of the response.
    ///
    /// # Errors
    /// There is no connection, or it ended before the response.
    pub(super) async fn send(&self, mut request: Request) -> Result<Response<ServerBody>, BoxError> {
        loop {
            let idle = self.idle.take();
            let is_reused = idle.is_some();
            let mut sender = match idle {
                Some(sender) => sender,
                None => self.open().await?,
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let lease = Lease { sender: Some(sender), idle: self.idle.clone() };
                    return Ok(response.map(|inner| ServerBody::new(inner, lease)));
                }
                // The server has closed the connection in the meantime; nothing of the request was sent.
                Err(mut error) => match error.take_message().filter(|_| is_reused) {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
    }

    async fn open(&self) -> Result<SendRequest<Body>, BoxError> {
        let stream = (self.connect)().await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        http_edge::spawn_task(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "connection to the server ended early");
            }
        });
        Ok(sender)
    }
}

/// The connection of a response; dropped at its end, it serves the next request.
struct Lease {
    sender: Option<SendRequest<Body>>,
    idle: IdleConnections,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut sender) = self.sender.take().filter(|sender| !sender.is_closed()) else { return };
        if sender.is_ready() {
            self.idle.add(sender);
            return;
        }
        let idle = self.idle.clone();
        let wait = async move {
            if sender.ready().await.is_ok() {
                idle.add(sender);
            }
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(wait);
        }
    }
}

/// The body of a server's response.
pub(super) struct ServerBody {
    inner: Incoming,
    lease: Option<Lease>,
}

impl ServerBody {
    fn new(inner: Incoming, lease: Lease) -> Self {
        let mut body = Self { inner, lease: Some(lease) };
        body.release_at_end();
        body
    }

    fn release_at_end(&mut self) {
        if self.inner.is_end_stream() {
            self.lease = None;
        }
    }
}

impl HttpBody for ServerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_frame(cx);
        match polled {
            Poll::Ready(None) => this.lease = None,
            Poll::Ready(Some(_)) => this.release_at_end(),
            Poll::Pending => {}
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
