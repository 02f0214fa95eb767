//! What the recording proxy changes of requests and responses.

use std::io::Write;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use flows::record::ProxyLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::proxied::{LIMIT, Proxy, read_until, send, start_server};

/// The body of most responses.
const JSON: &str = r#"{"name": "GoTrue"}"#;
/// What is recorded of it: names can be those of users.
const RECORDED: &str = r#""json": {"name": "<any>"}"#;

/// The heads of the requests that a server has received, in lower case.
type Heads = Arc<Mutex<Vec<String>>>;

/// Reads one request and sends a reply that follows from its head.
async fn answer(mut stream: TcpStream, heads: Heads, reply: fn(&str) -> Vec<u8>) {
    let Some(head) = read_until(&mut stream, b"\r\n\r\n").await else { return };
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") && read_until(&mut stream, b"0\r\n\r\n").await.is_none() {
        return;
    }
    let reply = reply(&head);
    heads.lock().expect("no panic").push(head);
    let _ = stream.write_all(&reply).await;
}

/// Starts a server and a proxy in front of it, whose URL of the server has the user information.
async fn start(user_information: &str, reply: fn(&str) -> Vec<u8>) -> (Proxy, Heads, String) {
    let heads = Heads::default();
    let received = Arc::clone(&heads);
    let host = start_server(move |stream| answer(stream, Arc::clone(&received), reply)).await;
    let proxy = Proxy::start(format!("http://{user_information}{host}"), ProxyLimits::default()).await;
    (proxy, heads, host)
}

/// A JSON response with more header lines, each with its end.
fn response(status: &str, lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{lines}\r\n");
    [head.as_bytes(), body].concat()
}

fn json_response(_head: &str) -> Vec<u8> {
    response("200 OK", &format!("connection: close\r\ncontent-length: {}\r\n", JSON.len()), JSON.as_bytes())
}

fn last(heads: &Heads) -> String {
    heads.lock().expect("no panic").last().expect("a request").clone()
}

#[tokio::test]
async fn recorded_response_is_not_compressed() {
    let (proxy, heads, _) = start("", |head| {
        if !head.contains("gzip") {
            return json_response(head);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(JSON.as_bytes()).expect("memory");
        let body = encoder.finish().expect("memory");
        let lines = format!("connection: close\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n", body.len());
        response("200 OK", &lines, &body)
    })
    .await;
    let get = |path: &str| proxy.client.get(format!("{}{path}", proxy.url)).header("accept-encoding", "gzip, br");
    // What is only passed on may be compressed.
    assert_eq!(send(get("/graphql/v1/items")).await.headers()["content-encoding"], "gzip");
    assert!(last(&heads).contains("accept-encoding: gzip, br\r\n"));
    assert_eq!(send(get("/auth/v1/health")).await.text().await.expect("text"), JSON);
    assert!(last(&heads).contains("accept-encoding: identity\r\n"));
    let recorded = proxy.finish().await;
    assert!(recorded.contains(RECORDED), "{recorded}");
}

#[tokio::test]
async fn exchange_with_trailers_in_its_response_is_recorded() {
    let (proxy, ..) = start("", |_| {
        let body = format!("{:x}\r\n{JSON}\r\n0\r\nx-checksum: 1\r\n\r\n", JSON.len());
        let lines = "connection: close\r\ntrailer: x-checksum\r\ntransfer-encoding: chunked\r\n";
        response("200 OK", lines, body.as_bytes())
    })
    .await;
    assert_eq!(proxy.get("/auth/v1/health").await.text().await.expect("text"), JSON);
    let recorded = proxy.finish().await;
    assert!(recorded.contains("\"/health\"") && recorded.contains(RECORDED), "{recorded}");
}

#[tokio::test]
async fn exchange_with_trailers_in_its_request_is_recorded() {
    let (proxy, ..) = start("", json_response).await;
    let mut stream = TcpStream::connect(proxy.url.trim_start_matches("http://")).await.expect("a connection");
    let request = "POST /auth/v1/recover HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntrailer: x-checksum\r\n\
                   content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx-checksum: 1\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("the proxy reads");
    let mut received = String::new();
    timeout(LIMIT, stream.read_to_string(&mut received)).await.expect("it ends").expect("text");
    assert!(received.contains(JSON), "{received}");
    let recorded = proxy.finish().await;
    assert!(recorded.contains("\"/recover\""), "{recorded}");
}

#[tokio::test]
async fn headers_of_the_connection_are_not_forwarded() {
    let (proxy, heads, _) = start("", |_| {
        let lines = "connection: close, x-internal\r\nx-internal: hop\r\nx-other: end\r\n\
                     proxy-authenticate: Basic\r\nproxy-connection: close\r\ncontent-length: 2\r\n";
        response("407 Proxy Authentication Required", lines, b"{}")
    })
    .await;
    for path in ["/auth/v1/health", "/graphql/v1/items"] {
        let request = proxy.client.get(format!("{}{path}", proxy.url));
        let request = request.header("connection", "X-Internal,content-length , host").header("x-internal", "hop");
        let request = request.header("proxy-authorization", "Basic eDp5").header("proxy-connection", "keep-alive");
        let response = send(request.header("x-other", "end")).await;
        let head = last(&heads);
        assert!(head.contains("x-other: end\r\n") && head.contains("\nhost: "), "{head}");
        assert!(!head.contains("x-internal") && !head.contains("proxy-"), "{head}");
        assert_eq!(response.headers()["x-other"], "end");
        for name in ["x-internal", "proxy-authenticate", "proxy-connection"] {
            assert!(!response.headers().contains_key(name), "{path}: {name}");
        }
        assert_eq!(response.text().await.expect("text"), "{}");
    }
}

#[tokio::test]
async fn refused_websocket_has_no_headers_of_the_connection() {
    let (proxy, heads, _) = start("", |_| {
        let lines = "connection: close, x-internal\r\nx-internal: hop\r\ncontent-length: 2\r\n";
        response("401 Unauthorized", lines, b"{}")
    })
    .await;
    let request = proxy.client.get(format!("{}/realtime/v1/websocket", proxy.url));
    let request = request.header("connection", "Upgrade").header("upgrade", "websocket");
    let response = send(request.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")).await;
    assert!(last(&heads).contains("upgrade: websocket\r\n"));
    assert_eq!(response.status(), 401);
    assert!(!response.headers().contains_key("x-internal"));
    assert_eq!(response.text().await.expect("text"), "{}");
}

#[tokio::test]
async fn length_beside_chunks_does_not_cut_the_response() {
    let (proxy, ..) = start("", |_| {
        let body = format!("{:x}\r\n{JSON}\r\n0\r\n\r\n", JSON.len());
        let lines = "connection: close\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n";
        response("200 OK", lines, body.as_bytes())
    })
    .await;
    for path in ["/auth/v1/health", "/graphql/v1/items"] {
        assert_eq!(proxy.get(path).await.text().await.expect("text"), JSON, "{path}");
    }
    let recorded = proxy.finish().await;
    assert!(recorded.contains(RECORDED), "{recorded}");
}

#[tokio::test]
async fn every_line_of_forwarded_addresses_is_kept() {
    let (proxy, heads, _) = start("", json_response).await;
    let request = proxy.client.get(format!("{}/auth/v1/health", proxy.url));
    let request = request.header("x-forwarded-for", "192.0.2.1, 192.0.2.2").header("x-forwarded-for", "192.0.2.3");
    send(request).await;
    let head = last(&heads);
    assert!(head.contains("x-forwarded-for: 192.0.2.1, 192.0.2.2, 192.0.2.3, 127.0.0.1\r\n"), "{head}");
    assert_eq!(head.matches("x-forwarded-for").count(), 1, "{head}");
}

#[tokio::test]
async fn user_information_of_the_server_is_not_forwarded() {
    let (proxy, heads, host) = start("user:secretpw@", json_response).await;
    assert_eq!(proxy.get("/auth/v1/health").await.status(), 200);
    let head = last(&heads);
    assert!(head.contains(&format!("\r\nhost: {host}\r\n")), "{head}");
    assert!(!head.contains("secretpw") && !head.contains("authorization"), "{head}");
}
