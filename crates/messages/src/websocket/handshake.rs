//! The opening handshake (RFC 6455 §4.2).

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_edge::PendingUpgrade;

use crate::mailbox_request::AnswerError;

/// What the server appends to the key of the client (RFC 6455 §1.3).
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The number of bytes of a client's key.
const KEY_LENGTH: usize = 16;

/// A handshake that the server accepts.
pub(crate) struct Handshake {
    /// The response that switches the protocol.
    pub response: Response,
    /// The connection after the response.
    pub upgrade: PendingUpgrade,
}

/// Accepts the opening handshake of a request.
pub(crate) fn accept(request: &mut Request) -> Result<Handshake, AnswerError> {
    let headers = request.headers();
    let is_websocket = headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let is_known_version = headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
    if *request.method() != Method::GET || !is_websocket || !is_known_version {
        return Err(AnswerError::UpgradeRequired);
    }
    let accepted = accept_key(headers).ok_or_else(|| AnswerError::bad_request("Sec-WebSocket-Key is no key"))?;
    let Some(upgrade) = PendingUpgrade::take(request) else {
        return Err(AnswerError::bad_request("this connection cannot become a WebSocket"));
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    Ok(Handshake { response, upgrade })
}

/// Returns the header value that proves that the server speaks this protocol.
fn accept_key(headers: &HeaderMap) -> Option<HeaderValue> {
    let key = headers.get(SEC_WEBSOCKET_KEY)?.to_str().ok()?;
    STANDARD.decode(key).ok().filter(|bytes| bytes.len() == KEY_LENGTH)?;
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{KEY_SUFFIX}").as_bytes());
    HeaderValue::from_str(&STANDARD.encode(hash)).ok()
}
