//! Calls of the test API.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, Method};
use serde_json::Value;

use crate::error::Error;

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The test API below a URL.
#[derive(Debug, Clone)]
pub(crate) struct TestApi {
    client: Client,
    url: String,
    key: String,
}

impl TestApi {
    /// Creates the API at a URL.
    pub(crate) fn new(url: String, key: String) -> Result<Self, Error> {
        // Without proxies: the server is on this machine.
        Ok(Self { client: Client::builder().no_proxy().build()?, url, key })
    }

    /// Returns the API below a path.
    pub(crate) fn below(&self, path: &str) -> Self {
        Self { url: format!("{}{path}", self.url), ..self.clone() }
    }

    /// Calls the API and returns the JSON; null for an empty response.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        let request = self.client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.key);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await?;
        let status = response.status();
        let content = response.bytes().await?;
        let answer: Value = serde_json::from_slice(&content).unwrap_or_default();
        if status.is_success() {
            return Ok(answer);
        }
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        Err(Error::Refused { status, code: text("code"), message: text("message"), hint: text("hint") })
    }
}

/// Encodes a segment of a path, or a value of a query.
pub(crate) fn encode(segment: &str) -> String {
    utf8_percent_encode(segment, SEGMENT).to_string()
}
