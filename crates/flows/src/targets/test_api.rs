//! Calls of the test API of one world.

use reqwest::{Client, Method};
use serde_json::Value;

use crate::FlowError;

/// The test API below one path.
#[derive(Debug, Clone)]
pub struct TestApiClient {
    client: Client,
    url: String,
    key: String,
}

impl TestApiClient {
    /// Creates the API at a URL.
    pub fn new(client: Client, url: String, key: String) -> Self {
        Self { client, url, key }
    }

    /// Returns the API below a path.
    #[must_use]
    pub fn below(&self, path: &str) -> Self {
        Self { url: format!("{}{path}", self.url), ..self.clone() }
    }

    /// Returns its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Calls it and returns the JSON; null for an empty response.
    ///
    /// # Errors
    /// The call is refused, or the server is unreachable.
    pub async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, FlowError> {
        let failed =
            |error: String| FlowError::new(format!("{method} {path} of the test API: {error}"), "check the server");
        let method: Method = method.parse().map_err(|_| failed("no such method".to_owned()))?;
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.url)).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| failed(error.to_string()))?;
        let status = response.status();
        let content = response.bytes().await.map_err(|error| failed(error.to_string()))?;
        let answer: Value = serde_json::from_slice(&content).unwrap_or_default();
        if status.is_success() {
            return Ok(answer);
        }
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        Err(FlowError::new(format!("{method} {path} of the test API: {}", text("message")), text("hint")))
    }
}
