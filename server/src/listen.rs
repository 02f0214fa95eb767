//! Connections: taken, served, and at the end drained so that no request is lost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::edge::{self, Admission, ConnectionState, EdgeStream, HttpLimits};
use crate::request_task::RequestTasks;

/// After this long, requests that are still open at the end are given up.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);
/// A pause when the system has no connection to give, most often for want of file handles.
const OUT_OF_HANDLES: Duration = Duration::from_millis(50);

/// Tells everyone that it is time to end.
pub type Closing = watch::Receiver<bool>;

/// Serves under these limits until `closing` says so; then takes no more connections and waits for the open requests.
pub async fn serve<A, F>(listener: TcpListener, mut closing: Closing, limits: HttpLimits, answer: A)
where
    A: Fn(Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    // Every connection holds a receiver: that tells it to end, and us how many there are.
    let (connections, _) = watch::channel(false);
    let tasks = RequestTasks::new();
    let answer = {
        let tasks = tasks.clone();
        move |request: Request| {
            let (tasks, answered) = (tasks.clone(), answer(request));
            async move { tasks.run(answered).await }
        }
    };
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
                    connect(stream, (peer, state, Arc::clone(&limits)), connections.subscribe(), answer.clone());
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
    tracing::debug!(%peer, "too many connections, refused one");
    edge::refuse(admission, stream);
}

fn connect<A, F>(
    stream: EdgeStream,
    (peer, state, limits): (SocketAddr, Arc<ConnectionState>, Arc<HttpLimits>),
    closing: Closing,
    answer: A,
) where
    A: Fn(Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let of_service = Arc::clone(&state);
    let answer = move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        let (answer, limits, state) = (answer.clone(), Arc::clone(&limits), Arc::clone(&of_service));
        async move { edge::service::answer(request, &limits, state, answer).await }
    };
    tokio::spawn(async move {
        if let Err(error) = edge::resting::serve(stream, state, closing, answer).await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}
