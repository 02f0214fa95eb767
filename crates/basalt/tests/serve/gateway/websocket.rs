//! WebSockets through the gateway.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::upstream::{self, Exchange, connect, serve};
use crate::support::Basalt;

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;

/// A service that accepts a WebSocket and returns every frame; `?refuse` is refused.
fn echo_frames(mut exchange: Exchange) {
    if exchange.head[0].contains("refuse") {
        exchange.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        return;
    }
    assert_eq!((exchange.header("upgrade"), exchange.header("connection")), ("websocket", "Upgrade"));
    assert_eq!(exchange.header("sec-websocket-key"), "dGhlIHNhbXBsZSBub25jZQ==");
    let key = exchange.header("x-api-key").to_owned();
    exchange.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    );
    write_frame(exchange.stream.get_mut(), TEXT, key.as_bytes());
    while let Some((kind, payload)) = read_frame(&mut exchange.stream) {
        write_frame(exchange.stream.get_mut(), kind, &payload);
        if kind == CLOSE {
            return;
        }
    }
}

/// Writes a frame of less than 64 KiB without a mask.
fn write_frame(stream: &mut TcpStream, kind: u8, payload: &[u8]) {
    let mut frame = vec![kind];
    match u8::try_from(payload.len()) {
        Ok(length) if length < 126 => frame.push(length),
        _ => {
            frame.push(126);
            frame.extend(u16::try_from(payload.len()).expect("a short payload").to_be_bytes());
        }
    }
    frame.extend(payload);
    let _ = stream.write_all(&frame);
}

fn read_frame(stream: &mut impl Read) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).ok()?;
    let length = if head[1] == 126 {
        let mut long = [0; 2];
        stream.read_exact(&mut long).ok()?;
        usize::from(u16::from_be_bytes(long))
    } else {
        usize::from(head[1])
    };
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).ok()?;
    Some((head[0], payload))
}

/// Opens a WebSocket; returns the connection and the status line.
fn open(server: &Basalt, query: &str) -> (BufReader<TcpStream>, String) {
    let key = server.text("publishable_key");
    let mut stream = connect(server);
    let head = format!(
        "GET /realtime/v1/websocket?apikey={key}&vsn=1.0.0{query} HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n\
         Upgrade: WebSocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("the server reads");
    let mut stream = BufReader::new(stream);
    let mut status = String::new();
    stream.read_line(&mut status).expect("a status");
    let mut line = status.clone();
    while !line.trim_end().is_empty() {
        line.clear();
        stream.read_line(&mut line).expect("a header");
    }
    (stream, status)
}

fn serve_realtime(more: &str) -> (crate::support::TempFolder, Basalt) {
    let url = upstream::start(echo_frames);
    serve(&format!("realtime = \"{url}\"\n{more}"))
}

#[test]
fn frames_and_close_code_are_passed_on() {
    let (_scratch, server) = serve_realtime("");
    let (mut stream, status) = open(&server, "");
    assert!(status.starts_with("HTTP/1.1 101"), "{status}");
    assert_eq!(read_frame(&mut stream), Some((TEXT, server.text("anon_key").into_bytes())), "the key is translated");
    for payload in [b"hello".to_vec(), Vec::new(), vec![b'x'; 60_000]] {
        write_frame(stream.get_mut(), TEXT, &payload);
        assert_eq!(read_frame(&mut stream), Some((TEXT, payload)));
    }
    let close = [&1001_u16.to_be_bytes()[..], b"going away"].concat();
    write_frame(stream.get_mut(), CLOSE, &close);
    assert_eq!(read_frame(&mut stream), Some((CLOSE, close)));
    assert_eq!(stream.read(&mut [0; 1]).expect("the end"), 0, "the connection ends with the WebSocket");
}

#[test]
fn ten_websockets_are_independent() {
    let (_scratch, server) = serve_realtime("");
    let mut streams: Vec<_> = (0..10).map(|_| open(&server, "").0).collect();
    for stream in &mut streams {
        read_frame(stream).expect("the key");
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        write_frame(stream.get_mut(), TEXT, number.to_string().as_bytes());
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        assert_eq!(read_frame(stream), Some((TEXT, number.to_string().into_bytes())));
    }
}

#[test]
fn refused_websocket_leaves_the_connection_usable() {
    let (_scratch, server) = serve_realtime("");
    let (mut stream, status) = open(&server, "&refuse");
    assert!(status.starts_with("HTTP/1.1 403"), "{status}");
    let mut body = [0; 2];
    stream.read_exact(&mut body).expect("a body");
    assert_eq!(&body, b"no");
    let health = b"GET /auth/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.get_mut().write_all(health).expect("the server reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

#[test]
fn silent_websocket_ends_after_the_idle_timeout_only() {
    let (_scratch, server) = serve_realtime("websocket_idle_timeout = \"800ms\"\nresponse_timeout = \"200ms\"");
    let (mut stream, _) = open(&server, "");
    read_frame(&mut stream).expect("the key");
    // Longer than the timeout of responses, with traffic in between longer than that of WebSockets.
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(400));
        write_frame(stream.get_mut(), TEXT, b"beat");
        assert_eq!(read_frame(&mut stream), Some((TEXT, b"beat".to_vec())));
    }
    let started = Instant::now();
    assert_eq!(read_frame(&mut stream), None);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn shutdown_ends_websockets() {
    let (_scratch, server) = serve_realtime("");
    let (mut stream, _) = open(&server, "");
    read_frame(&mut stream).expect("the key");
    let started = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(read_frame(&mut stream), None);
    assert!(server.wait_for_exit());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}
