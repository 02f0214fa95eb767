//! `basalt storage` on the database of another server.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Body, Method, RequestBuilder, Response, StatusCode};

use crate::support::{Basalt, basalt, free_port};

/// A running `basalt storage`, which is killed at the end.
pub(crate) struct StorageServer<'a> {
    child: Child,
    pub(crate) url: String,
    owner: &'a Basalt,
}

impl Drop for StorageServer<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The environment for the database and the keys of a server.
pub(crate) fn variables_of(owner: &Basalt) -> [(&'static str, String); 4] {
    [
        ("DATABASE_URL", owner.text("database_url")),
        ("AUTH_JWT_SECRET", owner.text("jwt_secret")),
        ("ANON_KEY", owner.text("anon_key")),
        ("SERVICE_KEY", owner.text("service_role_key")),
    ]
}

impl<'a> StorageServer<'a> {
    /// Starts a server with a backend.
    pub(crate) async fn start(owner: &'a Basalt, backend: Vec<(&'static str, String)>) -> Self {
        let port = free_port();
        let listen = [("SERVER_HOST", "127.0.0.1".to_owned()), ("SERVER_PORT", port.to_string())];
        let mut command = basalt();
        let command = command.arg("storage").envs(variables_of(owner)).envs(listen).envs(backend);
        let child = command.stderr(Stdio::null()).spawn().expect("the program starts");
        let server = Self { child, url: format!("http://127.0.0.1:{port}"), owner };
        let started = Instant::now();
        while owner.client.get(format!("{}/status", server.url)).send().await.is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "basalt storage does not answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server
    }

    /// The number of the process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// A request with the service key, to a path or a URL.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.url) };
        self.owner.client.request(method, url).bearer_auth(self.owner.text("service_role_key"))
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: impl Into<Body>) -> Response {
        self.request(method, path).header("content-type", "text/plain").body(body).send().await.expect("a response")
    }

    pub(crate) async fn read(&self, path: &str) -> (StatusCode, String) {
        let response = self.send(Method::GET, path, "").await;
        (response.status(), response.text().await.expect("text"))
    }
}
