//! Sends requests to servers without TLS exactly as a flow writes them.
//!
//! The usual client resolves `..` in paths and encodes characters, which recordings of odd paths do not want.

use http::{HeaderMap, Method, Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Duration, timeout};

use super::observe::ReceivedResponse;
use crate::text::split_origin;

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The largest response.
const MAX_BODY: usize = 64 << 20;

/// A request whose target is not changed.
#[derive(Debug)]
pub(crate) struct ExactRequest<'a> {
    pub method: &'a Method,
    /// The URL, of the scheme http.
    pub url: &'a str,
    pub headers: &'a HeaderMap,
    /// The body.
    pub content: &'a [u8],
}

/// Sends a request on a connection of its own.
///
/// # Errors
/// The server is unreachable or breaks off; the text says which.
pub(crate) async fn send(request: &ExactRequest<'_>) -> Result<ReceivedResponse, String> {
    timeout(TIMEOUT, exchange(request)).await.map_err(|_| format!("it took over {} s", TIMEOUT.as_secs()))?
}

async fn exchange(request: &ExactRequest<'_>) -> Result<ReceivedResponse, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let (origin, path) = split_origin(request.url).ok_or("the URL has no host")?;
    let authority = origin.trim_start_matches("http://");
    let path = path.split('#').next().unwrap_or_default();
    let stream = TcpStream::connect(authority).await.map_err(|error| text(&error))?;
    stream.set_nodelay(true).map_err(|error| text(&error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| text(&error))?;
    let driver = tokio::spawn(connection);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let mut built = Request::new(Full::new(bytes::Bytes::copy_from_slice(request.content)));
    *built.method_mut() = request.method.clone();
    *built.uri_mut() = path.parse().map_err(|_| "the path has characters that HTTP does not allow".to_owned())?;
    let host = authority.parse().map_err(|_| "the URL has no host".to_owned())?;
    built.headers_mut().insert(header::HOST, host);
    for name in request.headers.keys() {
        built.headers_mut().remove(name);
        for value in request.headers.get_all(name) {
            built.headers_mut().append(name, value.clone());
        }
    }
    let response = sender.send_request(built).await.map_err(|error| text(&error))?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = Limited::new(response.into_body(), MAX_BODY).collect().await.map_err(|error| error.to_string())?;
    driver.abort();
    Ok(ReceivedResponse { status, headers, body: body.to_bytes().to_vec() })
}
