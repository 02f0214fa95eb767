//! Headers of forwarded requests and responses: those of the connection, and those about the client.

use std::net::IpAddr;

use http::header::HOST;
use http::{HeaderMap, HeaderValue};
use http_edge::request::forwarded::{X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PROTO};
use http_edge::request::remove_connection_headers;

/// Replaces the headers of the connection, and adds what the server should know about the client.
pub(super) fn forward_headers(headers: &mut HeaderMap, target: &str, peer: Option<IpAddr>) {
    remove_connection_headers(headers);
    let host = headers.remove(HOST);
    for (name, value) in [(X_FORWARDED_HOST, host), (X_FORWARDED_PROTO, Some(HeaderValue::from_static("http")))] {
        if let (false, Some(value)) = (headers.contains_key(&name), value) {
            headers.insert(name, value);
        }
    }
    if let Some(peer) = peer {
        let earlier = headers.get_all(X_FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let chain: Vec<String> = earlier.map(str::to_owned).chain([peer.to_string()]).collect();
        if let Ok(chain) = HeaderValue::try_from(chain.join(", ")) {
            headers.insert(X_FORWARDED_FOR, chain);
        }
    }
    if let Ok(host) = HeaderValue::try_from(target) {
        headers.insert(HOST, host);
    }
}
