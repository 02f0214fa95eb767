//! The HTTP edge of the binary: form of requests, connection limits, timeouts, rejected uploads.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::orders::PRODUCTS;
use super::support::{Basalt, TempFolder, eventually};

/// A limit for all operations here.
const IO_TIMEOUT: Duration = Duration::from_secs(20);

fn connect(server: &Basalt) -> TcpStream {
    let url = server.text("url");
    let stream = TcpStream::connect(url.trim_start_matches("http://")).expect("it listens");
    stream.set_read_timeout(Some(IO_TIMEOUT)).expect("a limit");
    stream.set_write_timeout(Some(IO_TIMEOUT)).expect("a limit");
    stream
}

/// Reads everything until the server closes the connection.
fn read_to_end(mut stream: TcpStream) -> Result<String, ErrorKind> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(error.kind()),
    }
}

/// Sends bytes and returns the response until the server closes the connection.
fn exchange(server: &Basalt, bytes: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(bytes.as_bytes()).expect("the server reads");
    read_to_end(stream).expect("the server ends the connection")
}

/// Parses the statuses of the responses in a stream, in order.
fn parse_statuses(stream: &str) -> Vec<u16> {
    stream
        .match_indices("HTTP/1.1 ")
        .filter_map(|(at, start)| stream.get(at + start.len()..)?.get(..3)?.parse().ok())
        .collect()
}

fn serve_with_limits(http: &str) -> (TempFolder, Basalt) {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", &format!("[basalt.http]\n{http}\n"));
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    (scratch, server)
}

#[test]
fn ambiguous_framing_is_rejected_or_closes_connection() {
    let server = Basalt::serve(&["--ephemeral"]);
    let path = "/auth/v1/health";
    let last = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    for head in [
        // No host, two hosts, an invalid host.
        format!("GET {path} HTTP/1.1\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nHost: a b\r\n\r\n"),
        // Contradictory lengths, and transfer codings that do not end in `chunked`.
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na"),
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        format!("POST {path} HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        // Space before the colon, a folded line, a bare carriage return.
        format!("GET {path} HTTP/1.1\r\nHost : a\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nHost: a\r\nX: a\rb: c\r\n\r\n"),
    ] {
        let response = exchange(&server, &format!("{head}{last}"));
        assert_eq!(parse_statuses(&response), [400], "{head:?}: {response}");
    }
    // A chunked body with a length counts as chunked, and what follows is not taken for a request.
    for lengths in
        ["Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4"]
    {
        let both = format!("POST {path} HTTP/1.1\r\nHost: a\r\n{lengths}\r\n\r\n0\r\n\r\n");
        let response = exchange(&server, &format!("{both}{last}"));
        assert_eq!(parse_statuses(&response), [405], "{lengths}: {response}");
        assert!(response.to_lowercase().contains("connection: close"), "{response}");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Basalt::serve(&["--ephemeral"]);
    let get = |target: &str, more: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n{more}\r\n");
    let several = [
        get("/auth/v1/health", ""),
        get("/auth/v1/user", ""),
        get("http://elsewhere.example/auth/v1/health", ""),
        // A small unread body does not end the connection.
        "POST /auth/v1/nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody".to_owned(),
        get("/auth/v1/health", "Connection: close\r\n"),
    ];
    assert_eq!(parse_statuses(&exchange(&server, &several.concat())), [200, 401, 200, 401, 200]);
    let old = exchange(&server, "GET /auth/v1/health HTTP/1.0\r\n\r\n");
    assert!(old.starts_with("HTTP/1.0 200") || old.starts_with("HTTP/1.1 200"), "{old}");
}

#[test]
fn oversized_upload_gets_response() {
    let server = Basalt::serve(&["--ephemeral"]);
    let key = server.text("publishable_key");
    let body = vec![b' '; 2 << 20];
    let head = format!(
        "POST /auth/v1/signup HTTP/1.1\r\nHost: a\r\napikey: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    for round in 0..200 {
        let mut stream = connect(&server);
        stream.write_all(head.as_bytes()).expect("the server reads the head");
        stream.write_all(&body).unwrap_or_else(|error| panic!("round {round}: the upload broke off: {error}"));
        let response = read_to_end(stream).unwrap_or_else(|error| panic!("round {round}: no response: {error}"));
        assert_eq!(parse_statuses(&response), [413], "round {round}: {response}");
        assert!(response.to_lowercase().contains("connection: close"), "round {round}: {response}");
    }
    // Without a key the body is not read.
    let head = head.replace("apikey", "x-other");
    for round in 0..20 {
        let mut stream = connect(&server);
        stream.write_all(head.as_bytes()).expect("the server reads the head");
        stream.write_all(&body).unwrap_or_else(|error| panic!("round {round}: the upload broke off: {error}"));
        assert_eq!(parse_statuses(&read_to_end(stream).expect("a response")), [401], "round {round}");
    }
}

#[test]
fn slow_clients_are_disconnected() {
    let (_scratch, server) = serve_with_limits(
        "header_timeout = \"400ms\"\nbody_timeout = \"400ms\"\nidle_timeout = \"2s\"\nwrite_timeout = \"1s\"",
    );
    let started = Instant::now();
    let mut drip = connect(&server);
    drip.write_all(b"GET /auth/v1/health HTTP/1.1\r\nHost: a\r\nX: ").expect("the server reads");
    assert_eq!(parse_statuses(&read_to_end(drip).expect("an orderly end")), [408]);
    assert!(started.elapsed() < Duration::from_secs(2), "the head has a limit of its own");

    let key = server.text("publishable_key");
    let mut stalled = connect(&server);
    let head = format!("POST /auth/v1/signup HTTP/1.1\r\nHost: a\r\napikey: {key}\r\nContent-Length: 100\r\n\r\n{{");
    stalled.write_all(head.as_bytes()).expect("the server reads");
    assert_eq!(parse_statuses(&read_to_end(stalled).expect("an orderly end")), [400]);

    // Idle for longer than the head timeout, then beyond the idle timeout.
    let started = Instant::now();
    let mut idle = connect(&server);
    idle.write_all(b"GET /auth/v1/health HTTP/1.1\r\nHost: a\r\n\r\n").expect("the server reads");
    assert_eq!(parse_statuses(&read_to_end(idle).expect("an orderly end")), [200]);
    assert!(started.elapsed() >= Duration::from_millis(1_900), "{:?}", started.elapsed());
    let silent = connect(&server);
    assert_eq!(read_to_end(silent), Ok(String::new()));
}

/// The number of users whose list is a long response, and the size of each one's metadata.
const LONG_LIST: (usize, usize) = (120, 60_000);

#[tokio::test]
async fn slow_reader_gets_whole_response() {
    let (_scratch, server) = serve_with_limits("idle_timeout = \"500ms\"\nheader_timeout = \"500ms\"");
    let key = server.text("secret_key");
    for number in 0..LONG_LIST.0 {
        let filler = "x".repeat(LONG_LIST.1);
        let user =
            serde_json::json!({ "email": format!("user{number}@example.com"), "user_metadata": { "text": filler } });
        let request = server.client.post(server.url("/auth/v1/admin/users")).header("apikey", &key).bearer_auth(&key);
        assert_eq!(request.json(&user).send().await.expect("a response").status(), 200);
    }
    let head = format!(
        "GET /auth/v1/admin/users?per_page=200 HTTP/1.1\r\nHost: a\r\napikey: {key}\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    // The beginning of another request must not start a time limit either.
    for pipelined in ["", "GET /auth"] {
        let mut stream = connect(&server);
        stream.write_all(format!("{head}{pipelined}").as_bytes()).expect("the server reads");
        let (mut received, mut part) = (0, vec![0; 64 << 10]);
        loop {
            match stream.read(&mut part).expect("no reset") {
                0 => break,
                count => received += count,
            }
            if received < LONG_LIST.0 * LONG_LIST.1 {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        assert!(received > LONG_LIST.0 * LONG_LIST.1, "{received} bytes, with {pipelined:?} behind the request");
    }
}

#[test]
fn connection_over_limit_gets_503_until_stalled_client_is_closed() {
    let (_scratch, server) = serve_with_limits("max_connections = 1\nwrite_timeout = \"500ms\"");
    let page = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut greedy = connect(&server);
    greedy.set_nonblocking(true).expect("a mode");
    // More than the socket buffers hold, so that the server has to wait for the client to read.
    let mut sent = 0;
    let started = Instant::now();
    let requests = page.repeat(1_000);
    while sent < requests.len() * 40 && started.elapsed() < Duration::from_secs(3) {
        match greedy.write(requests.as_bytes()) {
            Ok(written) => sent += written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("the server ended the connection at once: {error}"),
        }
    }
    let refused = exchange(&server, page);
    assert_eq!(parse_statuses(&refused), [503], "{refused}");
    for header in ["connection: close", "retry-after: 1"] {
        assert!(refused.to_lowercase().contains(header), "{refused}");
    }
    let last = page.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    eventually("the client that reads nothing loses its connection", || {
        parse_statuses(&exchange(&server, &last)) == [200]
    });
}

/// Sends a head and then a byte of the body from time to time; returns the status of the response.
fn drip(server: &Basalt, path: &str, body_type: &str) -> Option<u16> {
    const BETWEEN: Duration = Duration::from_millis(500);
    let mut stream = connect(server);
    stream.set_read_timeout(Some(BETWEEN)).expect("a limit");
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {body_type}\r\nContent-Length: 1000\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("the server reads");
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(20) {
        let mut answer = [0; 64];
        match stream.read(&mut answer) {
            Ok(length) => return parse_statuses(&String::from_utf8_lossy(&answer[..length])).first().copied(),
            Err(_) => stream.write_all(b"a").expect("the server reads"),
        }
    }
    None
}

#[test]
fn body_that_arrives_byte_by_byte_is_refused_at_the_deadline() {
    let scratch = TempFolder::new();
    let shop = format!("[basalt.shop]\n[basalt.shop.payment]\nproducts = \"{PRODUCTS}\"\n");
    let config = scratch.write("config.toml", &shop);
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    std::thread::scope(|scope| {
        let webhook = scope.spawn(|| drip(&server, "/shop/webhooks/stripe", "application/json"));
        let form = scope.spawn(|| drip(&server, "/submit", "application/x-www-form-urlencoded"));
        let inbox = ["/_dev/inbox/read", "/_dev/inbox/api/v1/send"];
        let inbox = inbox.map(|path| scope.spawn(|| drip(&server, path, "application/json")));
        for request in inbox.into_iter().chain([webhook]) {
            assert_eq!(request.join().expect("a status"), Some(408));
        }
        let form = form.join().expect("a status");
        // Without the built frontend there is no form.
        assert!(form == Some(408) || form == Some(405) && cfg!(not(frontend_built)), "{form:?}");
    });
}
