//! The process of one binary.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use reqwest::Client;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::FlowError;

/// The longest start of a server, which may migrate the database.
const START_LIMIT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The longest part of a log in an error, in characters.
const MAX_LOG: usize = 500;

/// A server that answers requests; it ends with this value.
pub(super) struct Process {
    child: Child,
    /// The port on 127.0.0.1.
    pub port: u16,
}

impl Process {
    /// Starts a server and waits until it answers at this path.
    ///
    /// # Errors
    /// The binary cannot be run, or it ends; the error has the end of its log.
    pub(super) async fn start(
        client: &Client,
        (binary, mut command): (&Path, Command),
        (port, health): (u16, &str),
        log: &Path,
    ) -> Result<Self, FlowError> {
        let cannot_run = |problem: String| failure(binary, &problem);
        let failed = |problem: String| {
            let hint = "check the settings of the flow: both binaries must know them";
            FlowError::new(format!("{}: {problem}", binary.display()), hint)
        };
        let output = File::create(log).map_err(|error| cannot_run(format!("{}: {error}", log.display())))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| cannot_run(error.to_string()))?;
        let started = Instant::now();
        let url = format!("http://127.0.0.1:{port}{health}");
        while started.elapsed() < START_LIMIT {
            if let Ok(Some(status)) = child.try_wait() {
                return Err(failed(format!("it ended with {status} before it served{}", read_end(log))));
            }
            match client.get(&url).timeout(START_LIMIT).send().await {
                Ok(response) if response.status().is_success() => return Ok(Self { child, port }),
                _ => sleep(POLL_INTERVAL).await,
            }
        }
        Err(failed(format!("it does not serve within a minute{}", read_end(log))))
    }

    /// Ends it at once.
    pub(super) async fn end(mut self) {
        let _ = self.child.kill().await;
    }
}

/// Returns whether a binary is basalt; otherwise it is taken for GoTrue's server.
///
/// # Errors
/// It cannot be run.
pub(super) async fn is_basalt(binary: &Path) -> Result<bool, FlowError> {
    let output = Command::new(binary).arg("--version").stdin(Stdio::null()).kill_on_drop(true).output();
    let version = output.await.map_err(|error| failure(binary, &error.to_string()))?;
    Ok(version.stdout.starts_with(b"basalt"))
}

/// Returns a free port.
///
/// # Errors
/// There is none.
pub(super) fn free_port() -> Result<u16, FlowError> {
    let address = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|error| FlowError::new(format!("no port: {error}"), "check the limits of the system"))
}

/// Creates a folder that its owner alone may enter.
///
/// # Errors
/// It cannot be created.
pub(super) fn create_folder(path: &Path) -> Result<(), FlowError> {
    use std::os::unix::fs::DirBuilderExt;
    let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|error| FlowError::new(format!("{}: {error}", path.display()), "check the temporary folder"))
}

fn failure(binary: &Path, problem: &str) -> FlowError {
    FlowError::new(format!("{}: {problem}", binary.display()), "name two binaries: basalt, or GoTrue's server")
}

/// Returns the last lines of a log after a colon; nothing if it is empty.
fn read_end(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).unwrap_or_default();
    let skipped = text.chars().count().saturating_sub(MAX_LOG);
    let end: String = text.chars().skip(skipped).collect();
    if end.is_empty() { end } else { format!(": {end}") }
}
