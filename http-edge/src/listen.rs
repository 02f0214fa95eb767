//! Connections: taken, served, and at the end drained so that no request is lost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::HttpLimits;
use crate::admission::{self, Admission};
use crate::request_task::RequestTasks;
use crate::state::ConnectionState;
use crate::stream::EdgeStream;
use crate::{connection, service};

/// After this long, requests that are still open at the end are given up.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);
/// A pause when the system has no connection to give, most often for want of file handles.
const OUT_OF_HANDLES: Duration = Duration::from_millis(50);

/// Tells everyone that it is time to end.
pub type Closing = watch::Receiver<bool>;

/// Answers one request. In a box, so that all of this crate is compiled once and with its own optimisation.
type Answer = Arc<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>;

/// Serves under these limits until `closing` says so; then takes no more connections and waits for the open requests.
pub async fn serve<A, F>(listener: TcpListener, closing: Closing, limits: HttpLimits, answer: A)
where
    A: Fn(Request) -> F + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    serve_boxed(listener, closing, limits, Arc::new(move |request| answer(request).boxed())).await;
}

async fn serve_boxed(listener: TcpListener, mut closing: Closing, limits: HttpLimits, answer: Answer) {
    // Every connection holds a receiver: that tells it to end, and us how many there are.
    let (connections, _) = watch::channel(false);
    let tasks = RequestTasks::new();
    let admission = Admission::new(&limits);
    let limits = Arc::new(limits);
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => match admission.admit(peer.ip()) {
                Some(permit) => {
                    let state = Arc::<ConnectionState>::default();
                    // Answers are small and whole: waiting to fill a packet would only delay them.
                    let _ = stream.set_nodelay(true);
                    let stream = EdgeStream::new(stream, permit, Arc::clone(&limits), Arc::clone(&state));
                    let client = Client { peer, state, limits: Arc::clone(&limits), tasks: tasks.clone() };
                    client.connect(stream, connections.subscribe(), Arc::clone(&answer));
                }
                None => refuse(&admission, stream, peer),
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(OUT_OF_HANDLES).await;
            }
        }
    }
    drop(listener);
    let open = connections.receiver_count();
    connections.send_replace(true);
    if tokio::time::timeout(DRAIN_LIMIT, connections.closed()).await.is_err() {
        tracing::warn!(open, "gave up waiting for open requests");
    }
    // Those whose clients have gone.
    let running = tasks.finished(DRAIN_LIMIT).await;
    if running > 0 {
        tracing::warn!(running, "gave up waiting for requests of clients that have disconnected");
    }
}

fn refuse(admission: &Admission, stream: TcpStream, peer: SocketAddr) {
    tracing::debug!(%peer, "connection refused, limit reached");
    admission::refuse(admission, stream);
}

/// What the service of one connection needs for each of its requests.
struct Client {
    peer: SocketAddr,
    state: Arc<ConnectionState>,
    limits: Arc<HttpLimits>,
    tasks: RequestTasks,
}

impl Client {
    fn connect(self, stream: EdgeStream, closing: Closing, answer: Answer) {
        let state = Arc::clone(&self.state);
        let client = Arc::new(self);
        let service = move |mut request: hyper::Request<Incoming>| {
            let (client, answer) = (Arc::clone(&client), Arc::clone(&answer));
            request.extensions_mut().insert(ConnectInfo(client.peer));
            async move {
                let run = |request| client.tasks.run(answer(request));
                service::answer(request, &client.limits, Arc::clone(&client.state), run).await
            }
        };
        tokio::spawn(async move {
            if let Err(error) = connection::serve(stream, state, closing, service).await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}
