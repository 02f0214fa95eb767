//! WebSockets of the mail catchers' APIs: of a world, of the default world, and of other sites.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::bench::TestServer;

/// Opens a WebSocket; returns the connection and the status.
async fn open(url: &str, headers: &str) -> (TcpStream, u16) {
    let (authority, path) = url.trim_start_matches("http://").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(authority).await.expect("connected");
    let request = format!(
        "GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a response"));
    }
    let head = String::from_utf8(head).expect("text");
    (stream, head[9..12].parse().expect("a status"))
}

/// Returns the opcode and the content of the next frame.
async fn read_frame(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let reading = async {
        let [first, second] = stream.read_u16().await?.to_be_bytes();
        let length = if second == 126 { stream.read_u16().await?.into() } else { usize::from(second) };
        let mut content = vec![0; length];
        stream.read_exact(&mut content).await?;
        std::io::Result::Ok((first & 0x0F, content))
    };
    timeout(Duration::from_secs(10), reading).await.expect("a frame in time").expect("a frame")
}

async fn read_event(stream: &mut TcpStream) -> Value {
    serde_json::from_slice(&read_frame(stream).await.1).expect("JSON")
}

#[tokio::test]
async fn world_reports_its_own_mails_until_it_is_deleted() {
    let server = TestServer::start();
    let (world, other) = (server.world(json!({})).await, server.world(json!({})).await);
    let (mut events, status) = open(&format!("{}/api/events", world.text("url")), "").await;
    assert_eq!(status, 101);
    let (mut mailbox, status) = open(&format!("{}/api/v2/monitor/messages/ann", world.text("url")), "").await;
    assert_eq!(status, 101);
    for (world, email) in [(&other, "bob@example.com"), (&world, "ann@example.com")] {
        world.sign_up(email).await;
        assert_eq!(world.auth("/recover", Some(json!({"email": email}))).await.0, 200);
    }
    let event = read_event(&mut events).await;
    assert_eq!((&event["Type"], &event["Data"]["To"][0]["Address"]), (&json!("new"), &json!("ann@example.com")));
    assert_eq!(read_event(&mut events).await["Type"], "stats");
    let stored = read_event(&mut mailbox).await;
    assert_eq!((&stored["variant"], &stored["header"]["mailbox"]), (&json!("message-stored"), &json!("ann")));

    world.ok(Method::DELETE, "", None).await;
    assert_eq!(read_frame(&mut events).await, (8, 1001_u16.to_be_bytes().to_vec()));
    assert_eq!(events.read(&mut [0]).await.expect("the end"), 0);
}

#[tokio::test]
async fn websockets_are_for_this_machine_and_not_for_other_sites() {
    let server = TestServer::start();
    let address = server.0.text("mailpit_url");
    for base in [address.clone(), server.0.url("/_dev/inbox")] {
        let url = format!("{base}/api/events");
        for (headers, status) in [
            (String::new(), 101),
            (format!("Origin: {}\r\n", &base[..base.rfind("/_dev").unwrap_or(base.len())]), 101),
            ("Origin: https://example.com\r\n".to_owned(), 403),
            ("Sec-Fetch-Site: cross-site\r\n".to_owned(), 403),
            ("X-Forwarded-For: 203.0.113.1\r\n".to_owned(), 403),
        ] {
            assert_eq!(open(&url, &headers).await.1, status, "{url} {headers}");
        }
    }
    let (mut events, _) = open(&format!("{address}/api/events"), "").await;
    let body = json!({"email": "ann@example.com", "password": "correct horse"});
    assert_eq!(server.0.auth("/signup", Some(body)).await.0, 200);
    assert_eq!(server.0.auth("/recover", Some(json!({"email": "ann@example.com"}))).await.0, 200);
    assert_eq!(read_event(&mut events).await["Type"], "new");
}
