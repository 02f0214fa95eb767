//! Connections: taken, served, and at the end drained so that no request is lost.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::request_task::RequestTasks;

/// The head of a request must be there after this long, or the connection is closed.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// After this long, requests that are still open at the end are given up.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);
/// A pause when the system has no connection to give, most often for want of file handles.
const OUT_OF_HANDLES: Duration = Duration::from_millis(50);

/// Tells everyone that it is time to end.
pub type Closing = watch::Receiver<bool>;

/// Serves until `closing` says so; then takes no more connections and waits for the open requests.
pub async fn serve<A, F>(listener: TcpListener, mut closing: Closing, answer: A)
where
    A: Fn(Request) -> F + Clone + Send + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let connections = GracefulShutdown::new();
    let tasks = RequestTasks::new();
    let answer = {
        let tasks = tasks.clone();
        move |request: Request| {
            let (tasks, answered) = (tasks.clone(), answer(request));
            async move { tasks.run(answered).await }
        }
    };
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => connect(stream, peer, &connections, answer.clone()),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(OUT_OF_HANDLES).await;
            }
        }
    }
    drop(listener);
    let open = connections.count();
    if tokio::time::timeout(DRAIN_LIMIT, connections.shutdown()).await.is_err() {
        tracing::warn!(open, "gave up waiting for open requests");
    }
    // Those whose clients have gone.
    let running = tasks.finished(DRAIN_LIMIT).await;
    if running > 0 {
        tracing::warn!(running, "gave up waiting for requests of clients that have disconnected");
    }
}

fn connect<A, F>(stream: TcpStream, peer: SocketAddr, connections: &GracefulShutdown, answer: A)
where
    A: Fn(Request) -> F + Clone + Send + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    // Answers are small and whole: waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let answered = answer(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .serve_connection(TokioIo::new(stream), service);
    let watched = connections.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = watched.await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}
