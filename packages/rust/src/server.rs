//! Starts a server, or finds the one of `basalt exec`.

use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::api::{TestApi, encode};
use crate::{Error, World};

/// A test server; it ends when this value is dropped, and with this process at the latest.
#[derive(Debug)]
pub struct Basalt {
    api: TestApi,
    /// `None` if another process started the server.
    child: Option<Child>,
}

impl Basalt {
    /// Returns the server of `basalt exec`, or starts `basalt serve --test`.
    ///
    /// The binary is that of `BASALT_BIN`, or `basalt` on the `PATH`.
    ///
    /// # Errors
    /// The binary is missing, or the server does not start.
    pub async fn start() -> Result<Self, Error> {
        match (variable("BASALT_TEST_URL"), variable("BASALT_TEST_KEY")) {
            (Some(url), Some(key)) => Ok(Self { api: TestApi::new(url, key)?, child: None }),
            _ => Self::start_binary(&variable("BASALT_BIN").unwrap_or_else(|| "basalt".to_owned())).await,
        }
    }

    /// Starts a server of this binary.
    ///
    /// # Errors
    /// The binary is missing, or the server does not start.
    pub async fn start_binary(binary: &str) -> Result<Self, Error> {
        let mut child = Command::new(binary)
            .args(["serve", "--test", "--json", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|cause| Error::Binary { binary: binary.to_owned(), cause })?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            // A failure leaves the line empty.
            let _ = BufReader::new(output).read_line(&mut line).await;
        }
        let announcement: Value = serde_json::from_str(&line).unwrap_or_default();
        let (Some(url), Some(key)) = (announcement["test_url"].as_str(), announcement["test_key"].as_str()) else {
            return Err(Error::Start { binary: binary.to_owned() });
        };
        Ok(Self { api: TestApi::new(url.to_owned(), key.to_owned())?, child: Some(child) })
    }

    /// Creates a world: `name`, `profile`, `env`, `config`, `seed`, `from`.
    ///
    /// # Errors
    /// The settings are invalid, or the server is unreachable.
    pub async fn world(&self, options: Value) -> Result<World, Error> {
        let description = self.api.call(Method::POST, "/worlds", Some(&options)).await?;
        Ok(World::new(self.api.clone(), description))
    }

    /// Returns a world by its id; `default` is the server itself.
    ///
    /// # Errors
    /// There is none of this id, or the server is unreachable.
    pub async fn find(&self, id: &str) -> Result<World, Error> {
        let description = self.api.call(Method::GET, &format!("/worlds/{}", encode(id)), None).await?;
        Ok(World::new(self.api.clone(), description))
    }

    /// Returns the descriptions of all worlds.
    ///
    /// # Errors
    /// The server is unreachable.
    pub async fn worlds(&self) -> Result<Vec<Value>, Error> {
        let answer = self.api.call(Method::GET, "/worlds", None).await?;
        Ok(answer.get("worlds").unwrap_or(&json!([])).as_array().cloned().unwrap_or_default())
    }

    /// Returns the id of the server's process; `None` if another process started it.
    pub fn process_id(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }
}

#[expect(clippy::disallowed_methods, reason = "basalt exec passes a server on by the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
