//! Accepts and serves connections; on shutdown drains them so that no request is lost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::admission::{self, Admission, ConnectionPermit};
use crate::limits::HttpLimits;
use crate::request_task::RequestTasks;
use crate::socket::SocketStream;
use crate::state::ConnectionState;
use crate::stream::EdgeStream;
use crate::tls::{Listener, TlsCertificate};
use crate::transport::Transport;
use crate::{connection, service};

/// Requests that are still open this long after shutdown began are abandoned.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);
/// Delay before the next `accept` after a failed one, most often for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Becomes true when the process shuts down.
pub type ShutdownSignal = watch::Receiver<bool>;

/// Answers one request.
///
/// Boxed, so that this crate is compiled once and not for each handler.
type Answer = Arc<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>;

/// Serves connections until `closing` is true, then stops accepting and waits for open requests.
pub async fn serve<A, F>(listener: impl Into<Listener>, closing: ShutdownSignal, limits: HttpLimits, answer: A)
where
    A: Fn(Request) -> F + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    serve_boxed(listener.into(), closing, limits, Arc::new(move |request| answer(request).boxed())).await;
}

async fn serve_boxed(listener: Listener, mut closing: ShutdownSignal, limits: HttpLimits, answer: Answer) {
    // Every connection holds a receiver, which signals shutdown to it; the receiver count is the number of connections.
    let (connections, _) = watch::channel(false);
    let tasks = RequestTasks::default();
    let admission = Admission::new(&limits);
    let limits = Arc::new(limits);
    let Listener { socket, tls } = listener;
    let take = |stream: SocketStream, peer: SocketAddr| match admission.admit(peer.ip()) {
        Some(permit) => {
            let state = Arc::<ConnectionState>::default();
            stream.send_at_once();
            let local = stream.local_address().map(LocalAddress);
            let client = Client { peer, local, state, limits: Arc::clone(&limits), tasks: tasks.clone() };
            let accepted = Accepted { stream, permit, tls: tls.clone() };
            client.spawn_connection(accepted, connections.subscribe(), Arc::clone(&answer));
        }
        None => refuse(&admission, stream, peer),
    };
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            accepted = socket.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => take(stream, peer),
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    socket.close(take);
    // A proxy that finds no listener sends no further requests over its open connections.
    drop(timeout(limits.closing_grace, connections.closed()).await);
    let open = connections.receiver_count();
    connections.send_replace(true);
    if timeout(DRAIN_LIMIT, connections.closed()).await.is_err() {
        tracing::warn!(open, "drain limit reached, abandoning open connections");
    }
    // Requests whose clients have disconnected run on.
    let running = tasks.wait_until_idle(DRAIN_LIMIT).await;
    if running > 0 {
        tracing::warn!(running, "drain limit reached, abandoning requests of disconnected clients");
    }
}

fn refuse(admission: &Admission, stream: SocketStream, peer: SocketAddr) {
    tracing::debug!(%peer, "connection limit reached, connection refused");
    match stream {
        SocketStream::Tcp(stream) => admission::refuse(admission, stream),
        SocketStream::Unix(stream) => admission::refuse(admission, stream),
    }
}

/// The server's address of a connection; an extension of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddress(pub SocketAddr);

/// The data that one connection's service needs for each request.
struct Client {
    peer: SocketAddr,
    local: Option<LocalAddress>,
    state: Arc<ConnectionState>,
    limits: Arc<HttpLimits>,
    tasks: RequestTasks,
}

/// A connection that is admitted.
struct Accepted {
    stream: SocketStream,
    permit: ConnectionPermit,
    tls: Option<Arc<TlsCertificate>>,
}

impl Accepted {
    /// Performs the handshake of TLS, which has the time of a request's head.
    async fn into_edge_stream(self, limits: Arc<HttpLimits>, state: Arc<ConnectionState>) -> Option<EdgeStream> {
        let transport = match (self.stream, &self.tls) {
            (SocketStream::Unix(stream), _) => Transport::Unix(stream),
            (SocketStream::Tcp(stream), None) => Transport::Plain(stream),
            (SocketStream::Tcp(stream), Some(tls)) => match timeout(limits.header_timeout, tls.accept(stream)).await {
                Ok(Ok(stream)) => Transport::Tls(Box::new(stream)),
                Ok(Err(error)) => {
                    tracing::debug!(%error, "TLS handshake failed");
                    return None;
                }
                Err(_) => return None,
            },
        };
        Some(EdgeStream::new(transport, self.permit, limits, state))
    }
}

impl Client {
    fn spawn_connection(self, accepted: Accepted, closing: ShutdownSignal, answer: Answer) {
        let state = Arc::clone(&self.state);
        let limits = Arc::clone(&self.limits);
        let client = Arc::new(self);
        let service = move |mut request: hyper::Request<Incoming>| {
            let (client, answer) = (Arc::clone(&client), Arc::clone(&answer));
            request.extensions_mut().insert(ConnectInfo(client.peer));
            if let Some(local) = client.local {
                request.extensions_mut().insert(local);
            }
            async move {
                let run = |request| client.tasks.run(answer(request));
                service::answer(request, &client.limits, Arc::clone(&client.state), run).await
            }
        };
        tokio::spawn(async move {
            let Some(stream) = accepted.into_edge_stream(limits, Arc::clone(&state)).await else { return };
            if let Err(error) = connection::serve(stream, state, closing, service).await {
                tracing::debug!(%error, "connection ended early");
            }
        });
    }
}
