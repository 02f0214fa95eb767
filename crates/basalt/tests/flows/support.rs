//! Servers, recorders and folders of the tests.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Returns a command for the binary, without variables that would change its behaviour.
pub(crate) fn basalt(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
    for name in ["DATABASE_URL", "RUST_LOG", "BASALT_TEST_URL", "BASALT_TEST_KEY"] {
        command.env_remove(name);
    }
    command.env("LOG_LEVEL", "error").args(arguments).current_dir(std::env::temp_dir());
    command
}

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    basalt(arguments).output().expect("the program starts")
}

/// Returns what a command printed.
pub(crate) fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("basalt-flows-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that prints one line of JSON when it is ready.
pub(crate) struct Program {
    child: Child,
    pub ready: Value,
}

impl Program {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = basalt(arguments).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("readable");
        let ready = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{arguments:?} ended before it was ready"));
        Self { child, ready }
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.ready[name].as_str().unwrap_or_else(|| panic!("no {name}")).to_owned()
    }

    /// Ends it by a signal and returns whether it was successful.
    pub(crate) fn end(mut self, signal: Signal) -> bool {
        kill_process(Pid::from_child(&self.child), signal).expect("it lives");
        self.child.wait().expect("a status").success()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A world of a test server.
pub(crate) struct World {
    server: Program,
    pub client: Client,
    pub description: Value,
}

impl World {
    pub(crate) async fn create(options: Value) -> Self {
        let server = Program::start(&["serve", "--test", "--json", "--port", "0"]);
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        let mut world = Self { server, client, description: Value::Null };
        let url = format!("{}/worlds", world.server.text("test_url"));
        world.description = world.test_request(Method::POST, &url, Some(options)).await;
        world
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.description[name].as_str().unwrap_or_else(|| panic!("no {name}: {}", self.description)).to_owned()
    }

    /// Calls the test API of the world.
    pub(crate) async fn test(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let url = format!("{}/worlds/{}{path}", self.server.text("test_url"), self.text("id"));
        self.test_request(method, &url, body).await
    }

    async fn test_request(&self, method: Method, url: &str, body: Option<Value>) -> Value {
        let request = self.client.request(method, url).bearer_auth(self.server.text("test_key"));
        let request = if let Some(body) = body { request.json(&body) } else { request };
        let response = request.send().await.expect("an answer");
        let status = response.status();
        let answer: Value = response.json().await.unwrap_or_default();
        assert!(status.is_success(), "{url}: {answer}");
        answer
    }

    /// Waits for the latest of this number of messages to an address.
    pub(crate) async fn message(&self, to: &str, number: usize) -> Value {
        for _ in 0..200 {
            let path = format!("/messages?to={}", to.replace('+', "%2B"));
            let mut listed = self.test(Method::GET, &path, None).await;
            if let Some(messages) = listed["messages"].as_array_mut()
                && messages.len() >= number
            {
                return messages.swap_remove(number - 1);
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        panic!("no message {number} to {to}")
    }
}

/// An application that talks to the auth API through a recorder.
pub(crate) struct Application<'a> {
    pub world: &'a World,
    /// The URL of the proxy.
    pub url: String,
}

impl Application<'_> {
    pub(crate) async fn name_flow(&self, name: &str) {
        let body = serde_json::json!({ "name": name });
        let request = self.world.client.post(format!("{}/_record/flow", self.url)).json(&body);
        assert_eq!(request.send().await.expect("an answer").status(), 204);
    }

    /// Sends a request as supabase-js does: with the key, and with it as token where there is no session.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        token: Option<&Value>,
    ) -> Response {
        let key = self.world.text("publishable_key");
        let token = token.map_or(key.as_str(), |token| token.as_str().expect("a token"));
        let request = self.world.client.request(method, format!("{}/auth/v1{path}", self.url));
        let request =
            request.header("apikey", key.as_str()).header("x-supabase-api-version", "2024-01-01").bearer_auth(token);
        let request = if let Some(body) = body { request.json(&body) } else { request };
        request.send().await.expect("an answer")
    }

    pub(crate) async fn post(&self, path: &str, body: Value, token: Option<&Value>) -> Value {
        let response = self.send(Method::POST, path, Some(body), token).await;
        let status = response.status();
        let answer: Value = response.json().await.unwrap_or_default();
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    /// Returns where a request redirects to.
    pub(crate) async fn location(&self, path: &str) -> String {
        let response = self.send(Method::GET, path, None, None).await;
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        location.unwrap_or_else(|| panic!("{path}: {response:?}")).to_owned()
    }
}

/// Returns a parameter of the query or the fragment of a URL.
pub(crate) fn parameter(url: &str, name: &str) -> String {
    let start = format!("{name}=");
    let mut pairs = url.split(['?', '#', '&']);
    let found = pairs.find_map(|pair| pair.strip_prefix(start.as_str()));
    found.unwrap_or_else(|| panic!("no {name} in {url}")).to_owned()
}
