//! The server under test: a process with the settings of a profile and a database of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::PathBuf;

use serde_json::Value;
use tokio::process::Command;

use crate::FlowError;
use crate::recordings::network::free_port;
use crate::recordings::options::ServerCommand;
use crate::recordings::server_process::ServerProcess;

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
    process: ServerProcess,
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
        let mut command = Command::new(program);
        command.args(&options.command.arguments).arg(&file).env_clear().env("PATH", options.search);
        let log = options.files.with_extension("log");
        let mut process = ServerProcess::spawn(&mut command, &log).map_err(failed)?;
        process.wait_until_ready(&format!("http://127.0.0.1:{admin}/ready")).await?;
        Ok(Self { base: format!("http://127.0.0.1:{port}"), process })
    }

    /// Ends the server.
    pub(super) async fn stop(self) {
        self.process.stop().await;
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
