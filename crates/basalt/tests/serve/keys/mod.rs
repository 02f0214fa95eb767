//! `basalt keys`: rotation of signing keys and API keys, and secrets in files.

mod api_keys;
mod data_api;
mod gotrue;
mod secret_files;
mod signing;

use std::time::{Duration, Instant};

use serde_json::Value;

use super::support::run;

/// Runs `basalt keys` with these arguments; returns what it printed, or its error.
fn keys(arguments: &[&str]) -> Result<Value, String> {
    let all: Vec<&str> = ["keys", "--json"].iter().chain(arguments).copied().collect();
    let output = run(&all);
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).expect("JSON"));
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Polls until the condition holds, for ten seconds at most.
async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
