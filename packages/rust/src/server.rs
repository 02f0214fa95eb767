//! Starts a server, or finds the one of `basalt exec`.

use std::fs::File;
use std::io::Read;
use std::panic::AssertUnwindSafe;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::api::{TestApi, encode};
use crate::error::Error;
use crate::world::World;

/// The largest part of the log that an error shows, in bytes.
const LOG_LENGTH: usize = 8000;

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
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|cause| Error::Binary { binary: binary.to_owned(), cause })?;
        let log = Arc::<Mutex<String>>::default();
        let reader = child.stderr.take().and_then(|errors| errors.into_owned_fd().ok()).map(|errors| {
            let log = Arc::clone(&log);
            // A thread, because the server outlives the runtime of the test that started it.
            std::thread::spawn(move || keep_log(File::from(errors), &log))
        });
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            // A failure leaves the line empty.
            let _ = BufReader::new(output).read_line(&mut line).await;
        }
        let announcement: Value = serde_json::from_str(&line).unwrap_or_default();
        let (Some(url), Some(key)) = (announcement["test_url"].as_str(), announcement["test_key"].as_str()) else {
            let _ = child.kill().await;
            if let Some(reader) = reader {
                // The log is complete once the process has ended.
                let _ = reader.join();
            }
            let log = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let log = if log.is_empty() { "it printed nothing".to_owned() } else { log };
            return Err(Error::Start { binary: binary.to_owned(), log });
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

    /// Runs a test in a world of its own, which is deleted afterwards.
    ///
    /// If the test panics or returns an error, the world's id, events and messages are printed to standard error.
    ///
    /// # Errors
    /// The error of the test, or that the world cannot be created or deleted.
    pub async fn run<Output, Failure: From<Error>>(
        &self,
        options: Value,
        test: impl AsyncFnOnce(World) -> Result<Output, Failure>,
    ) -> Result<Output, Failure> {
        let world = self.world(options).await?;
        let outcome = AssertUnwindSafe(test(world.clone())).catch_unwind().await;
        if !matches!(outcome, Ok(Ok(_))) {
            eprintln!("{}", world.report().await);
        }
        let deleted = world.delete().await;
        let output = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        deleted?;
        Ok(output)
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

/// Reads the log to its end, so that the server never waits for a reader, and keeps the last part.
fn keep_log(mut errors: File, log: &Mutex<String>) {
    let mut part = [0; 4096];
    while let Ok(length @ 1..) = errors.read(&mut part) {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_str(&String::from_utf8_lossy(&part[..length]));
        let excess = log.len().saturating_sub(LOG_LENGTH);
        let start = log.ceil_char_boundary(excess);
        log.drain(..start);
    }
}

#[expect(clippy::disallowed_methods, reason = "basalt exec passes a server on by the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
