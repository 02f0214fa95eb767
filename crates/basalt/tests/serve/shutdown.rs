//! Shutdown: open requests complete and no files remain.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use rustix::process::Signal;

use super::support::{Basalt, eventually};

#[test]
fn open_request_is_answered_during_shutdown() {
    let server = Basalt::serve(&["--ephemeral"]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    let body = r#"{"email":"a@example.com","password":"wrong password"}"#;
    let (start, rest) = body.split_at(10);
    let mut stream = TcpStream::connect(&address).expect("connected");
    write!(
        stream,
        "POST /auth/v1/token?grant_type=password HTTP/1.1\r\nhost: localhost\r\napikey: {}\r\ncontent-length: {}\r\n\r\n{start}",
        server.text("publishable_key"),
        body.len()
    )
    .expect("sent");
    // The server has answered this one, so it has accepted the earlier connection as well.
    let mut other = TcpStream::connect(&address).expect("connected");
    write!(other, "GET /auth/v1/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").expect("sent");
    other.read_to_string(&mut String::new()).expect("answered");

    server.signal(Signal::TERM);
    eventually("no new connections are taken", || TcpStream::connect(&address).is_err());
    stream.write_all(rest.as_bytes()).expect("still open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("invalid_credentials"), "{answer}");
    assert!(server.wait_for_exit());
}

#[tokio::test]
async fn sighup_does_not_end_server() {
    let server = Basalt::serve(&["--ephemeral"]);
    for _ in 0..3 {
        server.signal(Signal::HUP);
        assert_eq!(server.auth("/health", None).await.0, 200);
    }
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
}

#[test]
fn ephemeral_server_removes_its_files() {
    let server = Basalt::serve(&["--ephemeral"]);
    let url = server.text("database_url").replace("%2F", "/");
    let host = url.split('@').nth(1).and_then(|rest| rest.split(':').next());
    let sockets = host.map(PathBuf::from).expect("a folder");
    let folder = sockets.ancestors().nth(2).expect("the data folder").to_owned();
    assert!(folder.join("keys.json").is_file(), "{}", folder.display());
    server.signal(Signal::INT);
    assert!(server.wait_for_exit());
    assert!(!folder.exists());
}
