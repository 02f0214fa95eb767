//! WebSockets pass through the proxy; nothing of them is recorded.

use axum::extract::Request;
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue};
use http_edge::PendingUpgrade;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

/// Takes the connection of a request that asks for a WebSocket.
pub(super) fn take_upgrade(request: &mut Request) -> Option<PendingUpgrade> {
    let is_websocket =
        request.headers().get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    PendingUpgrade::take(request).filter(|_| is_websocket)
}

/// Inserts the headers of the handshake, which concern one connection each.
pub(super) fn insert_headers(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
}

/// Copies bytes in both directions until one side ends.
pub(super) fn spawn_relay(client: PendingUpgrade, server: OnUpgrade) {
    http_edge::spawn_task(async move {
        let (Some(mut client), Ok(server)) = tokio::join!(client.wait(), server) else { return };
        let closing = client.closing();
        let mut server = TokioIo::new(server);
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => {}
            () = closing => {}
        }
    });
}
