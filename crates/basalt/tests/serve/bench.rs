//! A test server and its worlds, by the test API.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::Basalt;

pub(crate) struct TestServer(pub(crate) Basalt);

/// A world: URL and keys as the test API described it.
pub(crate) struct World<'s> {
    server: &'s TestServer,
    /// The answer to its creation.
    pub(crate) description: Value,
}

impl TestServer {
    /// Starts `basalt serve --test`.
    pub(crate) fn start() -> Self {
        Self(Basalt::serve(&["--test"]))
    }

    /// Calls the test API; returns status and JSON body.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("{}{path}", self.0.text("test_url"));
        let request = self.0.client.request(method, url).bearer_auth(self.0.text("test_key"));
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    /// Creates a world.
    pub(crate) async fn world(&self, body: Value) -> World<'_> {
        let (status, description) = self.call(Method::POST, "/worlds", Some(body)).await;
        assert_eq!(status, 201, "{description}");
        self.described(description)
    }

    /// Returns the world that an answer describes.
    pub(crate) fn described(&self, description: Value) -> World<'_> {
        World { server: self, description }
    }
}

impl World<'_> {
    /// Returns a member of the description.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.description[name].as_str().unwrap_or_else(|| panic!("no {name}"))
    }

    /// Calls the test API below the world's path.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        self.server.call(method, &format!("/worlds/{}{path}", self.text("id")), body).await
    }

    /// Calls the test API and expects success.
    pub(crate) async fn ok(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert!(status < 300, "{status}: {answer}");
        answer
    }

    /// Sends a request to the world's auth API with a key or a token.
    pub(crate) async fn auth_as(&self, token: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("{}/auth/v1{path}", self.text("url"));
        let client = &self.server.0.client;
        let request = match body {
            None => client.get(url),
            Some(body) => client.post(url).json(&body),
        };
        let request = request.header("apikey", self.text("publishable_key")).bearer_auth(token);
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    /// Sends a request to the world's auth API as a client without a session.
    pub(crate) async fn auth(&self, path: &str, body: Option<Value>) -> (u16, Value) {
        self.auth_as(self.text("publishable_key"), path, body).await
    }

    /// Signs a user up and returns the session.
    pub(crate) async fn sign_up(&self, email: &str) -> Value {
        let body = json!({"email": email, "password": "correct horse battery"});
        let (status, session) = self.auth("/signup", Some(body)).await;
        assert_eq!(status, 200, "{session}");
        session
    }

    /// Returns the e-mail addresses of all users.
    pub(crate) async fn users(&self) -> Vec<String> {
        let url = format!("{}/auth/v1/admin/users", self.text("url"));
        let request = self.server.0.client.get(url).header("apikey", self.text("secret_key"));
        let answer = request.bearer_auth(self.text("secret_key")).send().await.expect("an answer");
        let users: Value = answer.json().await.expect("JSON");
        let users = users["users"].as_array().unwrap_or_else(|| panic!("no users: {users}"));
        users.iter().map(|user| user["email"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
