//! A recording proxy in front of a server of the test.

use std::thread::JoinHandle;
use std::time::Duration;

use flows::record::{ProxyLimits, ProxyOptions, Recorder, RecordingProxy};
use flows::replay::build_client;
use reqwest::{Client, RequestBuilder, Response};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use super::support::{Folder, options};

/// Longer than any of the tests should wait.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// Starts a server that answers each connection in a task, and returns its host.
pub(crate) async fn start_server<F>(answer: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = server.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = server.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    host
}

/// Reads up to an end; `None` if the connection ends before.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &[u8]) -> Option<String> {
    let mut read = Vec::new();
    while !read.ends_with(end) {
        read.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(read).expect("text"))
}

/// A proxy in front of a server.
pub(crate) struct Proxy {
    pub url: String,
    pub client: Client,
    pub closing: watch::Sender<bool>,
    pub serving: tokio::task::JoinHandle<()>,
    pub recorder: JoinHandle<Recorder>,
    folder: Folder,
}

impl Proxy {
    /// Starts a proxy in front of the server of a URL.
    pub(crate) async fn start(project: String, limits: ProxyLimits) -> Self {
        let folder = Folder::new();
        let base = format!("{project}/auth/v1");
        let recorder = Recorder::new(options(&folder));
        let (proxy, recorder) = RecordingProxy::new(ProxyOptions { project, base, limits }, recorder).expect("a proxy");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (closing, closed) = watch::channel(false);
        let serving = tokio::spawn(proxy.serve(listener, closed));
        Self { url, client: build_client(false).expect("a client"), closing, serving, recorder, folder }
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        send(self.client.get(format!("{}{path}", self.url))).await
    }

    /// Ends the proxy and returns the text of its files.
    pub(crate) async fn finish(self) -> String {
        let _ = self.closing.send(true);
        timeout(LIMIT, self.serving).await.expect("it ends").expect("no panic");
        let mut recorder =
            tokio::task::spawn_blocking(|| self.recorder.join()).await.expect("no panic").expect("no panic");
        recorder.finish().expect("finished");
        self.folder.files().into_iter().map(|(_, text)| text).collect()
    }
}

/// Sends a request and returns its response.
pub(crate) async fn send(request: RequestBuilder) -> Response {
    timeout(LIMIT, request.send()).await.expect("a response in time").expect("a response")
}
