//! A server in the place of a provider, which records requests and gives one response.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

pub(crate) struct ProviderServer {
    /// Its base URL.
    pub url: Url,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ProviderServer {
    /// Answers every request with this status and body.
    pub(crate) fn start(status: u16, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let request = answer(stream, status, body).unwrap_or_default();
                recorded.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            }
        });
        Self { url: Url::parse(&url).expect("a URL"), requests }
    }

    /// Returns the texts of all requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(mut stream: TcpStream, status: u16, body: &str) -> std::io::Result<String> {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    let request = loop {
        let read = stream.read(&mut buffer)?;
        text.extend_from_slice(&buffer[..read]);
        let request = String::from_utf8_lossy(&text).into_owned();
        let expected = request.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let content = request.split_once("\r\n\r\n").map(|(_, content)| content.len());
        if read == 0 || content.is_some_and(|length| length >= expected.unwrap_or_default()) {
            break request;
        }
    };
    let head = format!("HTTP/1.1 {status} OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    Ok(request)
}
