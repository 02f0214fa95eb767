//! The headers that concern one connection, which a proxy does not pass on.

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName};

/// The headers that concern one connection (RFC 9110 §7.6.1).
const CONNECTION_HEADERS: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Removes the headers of the connection, including those that `Connection` names.
///
/// `Host` and `Content-Length` stay even if they are named: without them the next server could frame the message
/// differently. But beside `Transfer-Encoding` a `Content-Length` is not the length of the body (RFC 9112 §6.3): it is
/// removed, too.
pub fn remove_connection_headers(headers: &mut HeaderMap) {
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
            .filter(|name| *name != CONTENT_LENGTH && *name != HOST)
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in &CONNECTION_HEADERS {
        headers.remove(name);
    }
}
