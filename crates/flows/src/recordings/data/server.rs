//! The server under test: a process with the settings of a profile and a database of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::FlowError;
use crate::recordings::network::{client, free_port};
use crate::recordings::options::ServerCommand;

/// How long a start may take.
const START: Duration = Duration::from_mins(1);
/// How long an end may take.
const STOP: Duration = Duration::from_secs(10);
/// Its connections to the database.
const CONNECTIONS: &str = "4";

/// What a server is started with.
#[derive(Debug)]
pub(super) struct DataServerOptions<'a> {
    pub command: &'a ServerCommand,
    /// The settings by their names in the configuration file.
    pub settings: BTreeMap<String, String>,
    /// The URL of its database.
    pub database: String,
    /// The configuration file and the log, without their endings.
    pub files: PathBuf,
    /// The search path of programs.
    pub search: &'a OsStr,
}

/// A running server.
#[derive(Debug)]
pub(super) struct DataServer {
    /// The base URL.
    pub base: String,
    process: Child,
}

impl DataServer {
    /// Starts the server and waits until it is ready.
    pub(super) async fn start(options: DataServerOptions<'_>) -> Result<Self, FlowError> {
        let program = &options.command.program;
        let failed = |error: std::io::Error| {
            let hint = "build it with cargo build --package basalt, or name a server with --data-server";
            FlowError::new(format!("{}: {error}", program.display()), hint)
        };
        let (port, admin) = (free_port()?, free_port()?);
        let mut settings = options.settings;
        let own = [
            ("db-uri", options.database),
            ("db-pool", CONNECTIONS.to_owned()),
            ("server-host", "127.0.0.1".to_owned()),
            ("server-port", port.to_string()),
            ("admin-server-port", admin.to_string()),
        ];
        settings.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let file = options.files.with_extension("conf");
        std::fs::write(&file, format_settings(&settings)).map_err(failed)?;
        let path = options.files.with_extension("log");
        let log = File::create(&path).map_err(failed)?;
        let errors = log.try_clone().map_err(failed)?;
        let process = Command::new(program)
            .args(&options.command.arguments)
            .arg(&file)
            .env_clear()
            .env("PATH", options.search)
            .stdin(std::process::Stdio::null())
            .stdout(log)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let mut server = Self { base: format!("http://127.0.0.1:{port}"), process };
        server.wait(admin, &path).await.map(|()| server)
    }

    async fn wait(&mut self, admin: u16, log: &Path) -> Result<(), FlowError> {
        let client = client()?;
        let ready = format!("http://127.0.0.1:{admin}/ready");
        let hint = format!("its log is {}", log.display());
        let end = Instant::now() + START;
        while Instant::now() < end {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(FlowError::new(format!("the server ended with {status}"), hint));
            }
            let response = timeout(Duration::from_secs(2), client.get(&ready).send()).await;
            if response.is_ok_and(|response| response.is_ok_and(|response| response.status() == 200)) {
                return Ok(());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Err(FlowError::new(format!("not ready in {} s", START.as_secs()), hint))
    }

    /// Ends the server.
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

/// A configuration file; every value is a text in it.
fn format_settings(settings: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} = {}", Value::from(value.as_str()));
    }
    text
}
