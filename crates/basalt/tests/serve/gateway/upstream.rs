//! A service that the gateway forwards to, written for a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use crate::support::{Basalt, TempFolder};

/// A request as the service receives it; the service closes the connection after the response.
pub(crate) struct Exchange {
    /// The request line and the headers, names in lower case.
    pub head: Vec<String>,
    /// The connection, behind the head.
    pub stream: BufReader<TcpStream>,
}

impl Exchange {
    /// Returns the value of a header; `-` without it.
    pub(super) fn header(&self, name: &str) -> &str {
        let prefix = format!("{name}: ");
        self.head.iter().find_map(|line| line.strip_prefix(&prefix)).unwrap_or("-")
    }

    /// Returns the number of bytes of the body.
    pub(super) fn read_body(&mut self) -> u64 {
        let length = self.header("content-length").parse().unwrap_or(0);
        std::io::copy(&mut (&mut self.stream).take(length), &mut std::io::sink()).expect("a body")
    }

    /// Sends bytes.
    pub(crate) fn send(&mut self, text: &str) {
        let _ = self.stream.get_mut().write_all(text.as_bytes());
    }

    /// Responds with 200 and a text.
    pub(crate) fn respond(&mut self, text: &str) {
        let length = text.len();
        self.send(&format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"));
    }

    /// Responds with the request line and these headers.
    pub(crate) fn echo(&mut self, names: &[&str]) {
        let mut text = self.head[0].clone();
        for &name in names {
            text.extend(["\n", name, ": ", self.header(name)]);
        }
        self.respond(&text);
    }
}

/// Starts a service and returns its URL.
pub(crate) fn start(answer: impl Fn(Exchange) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                if let Some(exchange) = read_head(stream) {
                    answer(exchange);
                }
            });
        }
    });
    url
}

fn read_head(stream: TcpStream) -> Option<Exchange> {
    stream.set_nodelay(true).ok()?;
    let mut stream = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => return Some(Exchange { head, stream }),
            text => head.push(match text.split_once(": ") {
                Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
                None => text.to_owned(),
            }),
        }
    }
}

/// Starts the server with this table `[basalt.upstreams]`.
pub(super) fn serve(upstreams: &str) -> (TempFolder, Basalt) {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", &format!("[basalt.upstreams]\n{upstreams}\n"));
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    (scratch, server)
}

/// Connects to the server.
pub(super) fn connect(server: &Basalt) -> TcpStream {
    let url = server.text("url");
    let stream = TcpStream::connect(url.trim_start_matches("http://")).expect("it listens");
    stream.set_nodelay(true).expect("an option");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a limit");
    stream
}
