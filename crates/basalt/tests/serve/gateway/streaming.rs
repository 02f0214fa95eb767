//! Bodies are streamed in both directions, in bounded memory and with back-pressure.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::upstream::{self, connect, serve};
use crate::support::{Basalt, eventually};

const MIB: usize = 1 << 20;

/// Returns the resident memory of the server in KiB, the highest so far.
fn peak_memory(server: &Basalt) -> u64 {
    let path = format!("/proc/{}/status", server.pid().as_raw_nonzero());
    let status = std::fs::read_to_string(path).expect("the status of a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn upload_head(length: usize) -> String {
    format!("POST /storage/v1/object/a/b HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")
}

#[tokio::test]
async fn event_arrives_before_the_response_ends() {
    let (send_next, next) = mpsc::channel::<()>();
    let next = std::sync::Mutex::new(next);
    let url = upstream::start(move |mut exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
        exchange.send("9\r\ndata: 1\n\n\r\n");
        let _ = next.lock().expect("a lock").recv();
        exchange.send("9\r\ndata: 2\n\n\r\n0\r\n\r\n");
    });
    let (_scratch, server) = serve(&format!("functions = \"{url}\""));
    let mut response = server.client.get(server.url("/functions/v1/events")).send().await.expect("a response");
    assert_eq!(response.chunk().await.expect("a chunk").as_deref(), Some(&b"data: 1\n\n"[..]));
    send_next.send(()).expect("the service waits");
    assert_eq!(response.chunk().await.expect("a chunk").as_deref(), Some(&b"data: 2\n\n"[..]));
    assert_eq!(response.chunk().await.expect("the end"), None);
}

#[test]
fn upload_of_100_mib_is_streamed_in_bounded_memory() {
    let url = upstream::start(|mut exchange| {
        let received = exchange.read_body();
        exchange.respond(&received.to_string());
    });
    let (_scratch, server) = serve(&format!("storage = \"{url}\""));
    let before = peak_memory(&server);
    let mut stream = connect(&server);
    stream.write_all(upload_head(100 * MIB).as_bytes()).expect("the server reads");
    let part = vec![b'a'; MIB];
    for _ in 0..100 {
        stream.write_all(&part).expect("the server reads");
    }
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with(&(100 * MIB).to_string()), "{response}");
    let grown = peak_memory(&server).saturating_sub(before);
    assert!(grown < 16 * 1024, "memory grew by {grown} KiB");
}

#[test]
fn chunked_upload_arrives_whole_and_response_of_unknown_length_too() {
    let url = upstream::start(|mut exchange| {
        assert_eq!((exchange.header("transfer-encoding"), exchange.header("content-length")), ("chunked", "-"));
        let mut body = vec![0; "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".len()];
        let mut body_text = String::new();
        while !body_text.ends_with("0\r\n\r\n") {
            let length = exchange.stream.read(&mut body).expect("a body");
            body_text.push_str(std::str::from_utf8(&body[..length]).expect("text"));
        }
        // Without a length the end of the connection ends the response.
        exchange.send("HTTP/1.0 200 OK\r\n\r\nreceived ");
        exchange.send(if body_text.contains("abc") && body_text.contains("de") { "all" } else { "less" });
    });
    let (_scratch, server) = serve(&format!("storage = \"{url}\""));
    let mut stream = connect(&server);
    stream
        .write_all(b"POST /storage/v1/object/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        .expect("the server reads");
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(b"2\r\nde\r\n0\r\n\r\n").expect("the server reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    assert!(response.contains("received ") && response.contains("all"), "{response}");
}

#[test]
fn service_that_does_not_read_stops_the_client() {
    let url = upstream::start(|exchange| {
        std::thread::sleep(Duration::from_secs(20));
        drop(exchange);
    });
    let (_scratch, server) = serve(&format!("storage = \"{url}\""));
    let before = peak_memory(&server);
    let mut stream = connect(&server);
    stream.set_write_timeout(Some(Duration::from_millis(500))).expect("a limit");
    stream.write_all(upload_head(1024 * MIB).as_bytes()).expect("the server reads");
    let part = vec![b'a'; MIB];
    let mut sent = 0;
    let stopped = loop {
        match stream.write(&part) {
            Ok(written) => sent += written,
            Err(error) => break error.kind(),
        }
        assert!(sent < 200 * MIB, "the server reads on: {sent} bytes");
    };
    assert!(matches!(stopped, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{stopped:?} after {sent} bytes");
    assert!(peak_memory(&server).saturating_sub(before) < 16 * 1024);
}

#[test]
fn client_that_disconnects_ends_the_request_to_the_service() {
    let (began, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (of_service_began, of_service_ended) = (Arc::clone(&began), Arc::clone(&ended));
    let url = upstream::start(move |mut exchange| {
        let is_stream = exchange.head[0].contains("/stream");
        if is_stream {
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        }
        of_service_began.fetch_add(1, Ordering::SeqCst);
        // The end of the connection is an empty read or a reset.
        let _ = exchange.stream.read(&mut [0; 16]);
        of_service_ended.fetch_add(1, Ordering::SeqCst);
    });
    let (_scratch, server) = serve(&format!("functions = \"{url}\""));
    for (number, path) in ["/functions/v1/silent", "/functions/v1/stream"].into_iter().enumerate() {
        let mut stream = connect(&server);
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).expect("the server reads");
        eventually("the service has the request", || began.load(Ordering::SeqCst) == number + 1);
        assert_eq!(ended.load(Ordering::SeqCst), number);
        let started = Instant::now();
        drop(stream);
        eventually("the request to the service ends", || ended.load(Ordering::SeqCst) == number + 1);
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}
