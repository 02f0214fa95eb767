//! The process of a server under test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::network::client;
use crate::FlowError;

/// How long a start may take.
const START: Duration = Duration::from_mins(1);
/// How long an end may take.
const STOP: Duration = Duration::from_secs(10);

/// A running process, which ends with this value at the latest.
#[derive(Debug)]
pub(super) struct ServerProcess {
    process: Child,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts the command with its output in a file.
    ///
    /// # Errors
    /// The file or the process cannot be created.
    pub(super) fn spawn(command: &mut Command, log: &Path) -> std::io::Result<Self> {
        let output = File::create(log)?;
        let errors = output.try_clone()?;
        let process = command.stdin(Stdio::null()).stdout(output).stderr(errors).kill_on_drop(true).spawn()?;
        Ok(Self { process, log: log.to_owned() })
    }

    /// Waits until the URL answers 200.
    ///
    /// # Errors
    /// The process ends, or it takes longer than a minute.
    pub(super) async fn wait_until_ready(&mut self, url: &str) -> Result<(), FlowError> {
        let client = client()?;
        let hint = format!("its log is {}", self.log.display());
        let end = Instant::now() + START;
        while Instant::now() < end {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(FlowError::new(format!("the server ended with {status}"), hint));
            }
            let response = timeout(Duration::from_secs(2), client.get(url).send()).await;
            if response.is_ok_and(|response| response.is_ok_and(|response| response.status() == 200)) {
                return Ok(());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Err(FlowError::new(format!("no answer from {url} in {} s", START.as_secs()), hint))
    }

    /// Ends the process: by a signal, and after a while by force.
    pub(super) async fn stop(mut self) {
        if let Some(process) = self.process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            // It may have ended by itself.
            let _ = kill_process(process, Signal::TERM);
        }
        if timeout(STOP, self.process.wait()).await.is_err() {
            let _ = self.process.kill().await;
        }
    }
}
