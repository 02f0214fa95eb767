//! The WebSockets of Mailpit and Inbucket.

use std::time::Duration;

use http::Method;
use http_edge::HttpLimits;
use messages::mailbox_apis::{MailboxApis, MailboxRequest, MonitorLimits};
use messages::websocket::MAX_MESSAGE_BYTES;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::fixture::Backend;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const HANDSHAKE: &str = "Host: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// The APIs of a backend on a port.
struct Server {
    backend: Backend,
    apis: MailboxApis,
    port: u16,
}

impl Server {
    async fn start(limits: MonitorLimits) -> Self {
        let backend = Backend::new().await;
        let apis = MailboxApis::with_limits(backend.store.clone(), limits);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (closing, served) = (backend.closing.subscribe(), apis.clone());
        let answer = move |request| {
            let apis = served.clone();
            async move { apis.handle(request).await }
        };
        tokio::spawn(http_edge::serve(listener, closing, HttpLimits::default(), answer));
        Self { backend, apis, port }
    }

    /// Sends a request and returns the connection and the head of the response.
    async fn request(&self, path: &str, headers: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("connected");
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{headers}").as_bytes()).await.expect("sent");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a response"));
        }
        (stream, String::from_utf8(head).expect("text"))
    }

    async fn connect(&self, path: &str) -> Client {
        let (stream, head) = self.request(path, HANDSHAKE).await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(head.contains(": s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "the answer to the key of RFC 6455 §1.3: {head}");
        Client { stream }
    }

    async fn change(&self, method: Method, path: &str, body: Value) {
        let body = body.to_string().into_bytes();
        let response = self.apis.answer(MailboxRequest { method: &method, path, query: "", body: &body }).await;
        assert_eq!(response.status(), 200);
    }
}

/// The client of a WebSocket.
struct Client {
    stream: TcpStream,
}

impl Client {
    /// Returns the opcode and the content of the next frame.
    async fn frame(&mut self) -> (u8, Vec<u8>) {
        let reading = async {
            let [first, second] = self.stream.read_u16().await?.to_be_bytes();
            let length = match second {
                126 => self.stream.read_u16().await?.into(),
                127 => self.stream.read_u64().await?,
                length => length.into(),
            };
            let mut content = vec![0; usize::try_from(length).expect("a length")];
            self.stream.read_exact(&mut content).await?;
            std::io::Result::Ok((first & 0x7F, content))
        };
        timeout(Duration::from_secs(10), reading).await.expect("a frame in time").expect("a frame")
    }

    async fn event(&mut self) -> Value {
        let (opcode, content) = self.frame().await;
        assert_eq!(opcode, TEXT, "{content:?}");
        serde_json::from_slice(&content).expect("JSON")
    }

    /// Returns the types of the next events of Mailpit up to `stats`, and data.
    ///
    /// The data is that of the first event and that of `stats`.
    async fn changes(&mut self) -> (Vec<String>, Value, Value) {
        let (mut kinds, mut first) = (Vec::new(), Value::Null);
        loop {
            let event = self.event().await;
            kinds.push(event["Type"].as_str().expect("a type").to_owned());
            if kinds.len() == 1 {
                first = event["Data"].clone();
            }
            if event["Type"] == "stats" {
                return (kinds, first, event["Data"].clone());
            }
        }
    }

    async fn send(&mut self, opcode: u8, content: &[u8]) {
        self.stream.write_all(&client_frame(opcode, content)).await.expect("sent");
    }

    async fn expect_close(&mut self, code: u16) {
        assert_eq!(self.frame().await, (CLOSE, code.to_be_bytes().to_vec()));
        let read = timeout(Duration::from_secs(10), self.stream.read_u8()).await.expect("an end in time");
        assert!(read.is_err(), "the connection ends");
    }
}

/// Formats a masked frame.
fn client_frame(opcode: u8, content: &[u8]) -> Vec<u8> {
    let mask = [1, 2, 3, 4];
    let mut frame = vec![0x80 | opcode];
    if let Ok(length @ ..126) = u8::try_from(content.len()) {
        frame.push(0x80 | length);
    } else {
        frame.push(0xFE);
        frame.extend(u16::try_from(content.len()).expect("a length").to_be_bytes());
    }
    frame.extend(mask);
    frame.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

#[tokio::test]
async fn mailpit_reports_new_read_and_deleted_mails() {
    let server = Server::start(MonitorLimits::default()).await;
    server.backend.mail("ada").await;
    let mut client = server.connect("/api/events").await;
    server.backend.mail("bob").await;
    server.backend.keep(|_| {}).await;
    let (kinds, mail, numbers) = client.changes().await;
    assert_eq!(kinds, ["new", "stats"], "an SMS is no mail, and earlier mails are not reported");
    assert_eq!((&mail["Subject"], &mail["Read"]), (&json!("Welcome, bob"), &json!(false)));
    assert_eq!(mail["To"], json!([{"Name": "", "Address": "bob@example.com"}]));
    assert_eq!(numbers, json!({"Total": 2, "Unread": 2, "Version": numbers["Version"]}));

    server.change(Method::PUT, "/api/v1/messages", json!({"IDs": [mail["ID"]], "Read": true})).await;
    let (kinds, change, numbers) = client.changes().await;
    assert_eq!((kinds.as_slice(), &numbers["Unread"]), (&["update".to_owned(), "stats".to_owned()][..], &json!(1)));
    assert_eq!(change, json!({"ID": mail["ID"], "Read": true}));

    server.change(Method::DELETE, "/api/v1/messages", json!({"IDs": [mail["ID"]]})).await;
    let (kinds, change, _) = client.changes().await;
    assert_eq!((kinds.join(" "), change), ("delete stats".to_owned(), json!({"ID": mail["ID"]})));

    server.change(Method::DELETE, "/api/v1/messages", json!({})).await;
    let (kinds, _, numbers) = client.changes().await;
    assert_eq!((kinds.join(" ").as_str(), &numbers["Total"]), ("delete truncate stats", &json!(0)));
}

#[tokio::test]
async fn inbucket_reports_mails_of_a_mailbox_and_earlier_ones() {
    let server = Server::start(MonitorLimits::default()).await;
    server.backend.mail("ada").await;
    let mut all = server.connect("/api/v2/monitor/messages").await;
    let mut one = server.connect("/api/v2/monitor/messages/bob").await;
    let mut older = server.connect("/api/v1/monitor/messages").await;
    let history = all.event().await;
    assert_eq!((&history["variant"], &history["identifier"]), (&json!("message-stored"), &Value::Null));
    assert_eq!((&history["header"]["mailbox"], &older.event().await["mailbox"]), (&json!("ada"), &json!("ada")));

    server.backend.mail("bob+tag").await;
    let stored = one.event().await;
    assert_eq!(stored["header"]["mailbox"], "bob");
    assert_eq!(stored["header"]["subject"], "Welcome, bob+tag");
    assert_eq!(stored, all.event().await);
    assert_eq!(stored["header"], older.event().await);

    let id = stored["header"]["id"].as_str().expect("an id");
    server.change(Method::DELETE, &format!("/api/v1/mailbox/bob/{id}"), Value::Null).await;
    let deleted = json!({"variant": "message-deleted", "identifier": {"mailbox": "bob", "id": id}, "header": null});
    assert_eq!(one.event().await, deleted);
    assert_eq!(all.event().await, deleted);
    server.backend.mail("carl").await;
    assert_eq!(older.event().await["mailbox"], "carl", "version 1 does not report deletions");
}

#[tokio::test]
async fn client_is_answered_until_it_closes() {
    let server = Server::start(MonitorLimits::default()).await;
    let mut client = server.connect("/api/events").await;
    client.send(TEXT, b"hello").await;
    client.send(PING, b"are you there").await;
    assert_eq!(client.frame().await, (PONG, b"are you there".to_vec()));
    client.send(CLOSE, &1001_u16.to_be_bytes()).await;
    client.expect_close(1001).await;

    let mut client = server.connect("/api/events").await;
    client.stream.write_all(&[0x81, 0x01, b'a']).await.expect("sent");
    client.expect_close(1002).await;
    let mut client = server.connect("/api/events").await;
    client.send(TEXT, &[b'a'; MAX_MESSAGE_BYTES + 1]).await;
    client.expect_close(1009).await;

    let mut client = server.connect("/api/events").await;
    server.backend.closing.send_replace(true);
    client.expect_close(1001).await;
}

#[tokio::test]
async fn silent_client_is_disconnected() {
    let limits = MonitorLimits { ping_interval: Duration::from_millis(500), ..MonitorLimits::default() };
    let server = Server::start(limits).await;
    let mut client = server.connect("/api/events").await;
    for _ in 0..3 {
        assert_eq!(client.frame().await, (PING, Vec::new()));
        client.send(PONG, b"").await;
    }
    assert_eq!(client.frame().await, (PING, Vec::new()));
    client.expect_close(1001).await;
}

#[tokio::test]
async fn number_of_connections_is_limited() {
    let server = Server::start(MonitorLimits { connections: 2, ..MonitorLimits::default() }).await;
    let first = server.connect("/api/events").await;
    let _second = server.connect("/api/v2/monitor/messages").await;
    let (_, head) = server.request("/api/events", HANDSHAKE).await;
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    drop(first);
    let freed = async {
        while !server.request("/api/events", HANDSHAKE).await.1.starts_with("HTTP/1.1 101 ") {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), freed).await.expect("the place is free again");
}

#[tokio::test]
async fn other_requests_open_no_websocket() {
    let server = Server::start(MonitorLimits::default()).await;
    for (path, headers, status) in [
        ("/api/events", "Host: localhost\r\n\r\n".to_owned(), "426"),
        ("/api/events", HANDSHAKE.replace("Version: 13", "Version: 8"), "426"),
        ("/api/v2/monitor/messages", HANDSHAKE.replace("WebSocket\r\n", "h2c\r\n"), "426"),
        ("/api/events", HANDSHAKE.replace("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ="), "400"),
        ("/api/events", HANDSHAKE.replace("dGhlIHNhbXBsZSBub25jZQ==", "no key"), "400"),
        ("/api/v2/monitor/messages/a/b", HANDSHAKE.to_owned(), "404"),
    ] {
        let (_, head) = server.request(path, &headers).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {headers}: {head}");
        assert_eq!(head.to_lowercase().contains("sec-websocket-version: 13"), status == "426", "{head}");
    }
}
