//! A server in the place of a provider, which records requests.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

pub(crate) struct ProviderServer {
    /// Its base URL.
    pub url: Url,
    requests: Arc<Mutex<Vec<String>>>,
}

pub(crate) struct ProviderAnswer {
    pub status: u16,
    /// The target of a redirect.
    pub location: Option<String>,
    pub body: &'static str,
}

impl ProviderAnswer {
    pub(crate) fn new(status: u16, body: &'static str) -> Self {
        Self { status, location: None, body }
    }
}

impl ProviderServer {
    /// Answers every request with this status and body.
    pub(crate) fn start(status: u16, body: &'static str) -> Self {
        Self::start_with(move |_| ProviderAnswer::new(status, body))
    }

    /// Answers each request, which is given as its text.
    pub(crate) fn start_with(find_answer: impl Fn(&str) -> ProviderAnswer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Recorded before it is answered: then the test may count it.
                let record = |request: &str| {
                    recorded.lock().unwrap_or_else(PoisonError::into_inner).push(request.to_owned());
                };
                drop(answer(stream, record, &find_answer));
            }
        });
        Self { url: Url::parse(&url).expect("a URL"), requests }
    }

    /// Returns the texts of all requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(
    mut stream: TcpStream,
    record: impl Fn(&str),
    find_answer: &impl Fn(&str) -> ProviderAnswer,
) -> std::io::Result<()> {
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
    record(&request);
    let ProviderAnswer { status, location, body } = find_answer(&request);
    let location = location.map(|url| format!("location: {url}\r\n")).unwrap_or_default();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} OK\r\n{location}content-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
