//! The server under test: a process with the settings of flows and a database of its own.

use std::path::Path;
use std::sync::Arc;

use platform::clock::{Clock, SystemClock};
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::network::free_port;
use super::options::ServerCommand;
use super::server_process::ServerProcess;
use crate::FlowError;
use crate::format::{Profile, Settings};
use crate::sources::sign_token;
use crate::targets::{Target, fill_settings};

/// What a server is started with.
#[derive(Debug)]
pub(super) struct ServerOptions<'a> {
    pub command: &'a ServerCommand,
    pub settings: &'a Settings,
    /// The names that stand-ins gave.
    pub names: &'a Map<String, Value>,
    /// The URL of the database for the tool.
    pub database: String,
    /// The URL of the database for the server.
    pub auth_database: String,
    /// The file that gets the log.
    pub log: &'a Path,
    /// The search path of programs.
    pub search: &'a std::ffi::OsStr,
}

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    /// What flows know about it.
    pub target: Arc<Target>,
    process: ServerProcess,
}

impl Server {
    /// Starts the server and waits until it is healthy.
    pub(super) async fn start(options: ServerOptions<'_>) -> Result<Self, FlowError> {
        let failed = |error: std::io::Error| missing(options.command, &error.to_string());
        let port = free_port()?;
        let base = format!("http://127.0.0.1:{port}");
        let mut names = options.names.clone();
        let own = [
            ("port", port.to_string()),
            ("base", base.clone()),
            ("database", options.database.clone()),
            ("auth_database", options.auth_database.clone()),
        ];
        names.extend(own.map(|(name, value)| (name.to_owned(), value.into())));
        let filled = fill_settings(&Value::Object(options.settings.env.clone()), &names)?;
        let env = filled.as_object().cloned().unwrap_or_default();
        let mut command = command(options.command, "serve");
        command.env("PATH", options.search);
        command.envs(env.iter().filter_map(|(name, value)| Some((name, value.as_str()?))));
        let mut process = ServerProcess::spawn(&mut command, options.log).map_err(failed)?;
        process.wait_until_ready(&format!("{base}/health")).await?;
        let target = target(base, env, options.names.clone(), options.database);
        Ok(Self { target: Arc::new(target), process })
    }

    /// Ends the server.
    pub(super) async fn stop(self) {
        self.process.stop().await;
    }
}

/// The command of a server with an action, without the variables of this process.
fn command(server: &ServerCommand, action: &str) -> Command {
    let mut command = Command::new(&server.program);
    command.args(&server.arguments).arg(action).env_clear();
    if let Some(folder) = &server.folder {
        command.current_dir(folder);
    }
    command
}

fn missing(server: &ServerCommand, problem: &str) -> FlowError {
    let hint = "build it with cargo build --package basalt, or name a server with --server";
    FlowError::new(format!("{}: {problem}", server.program.display()), hint)
}

/// Creates the schema in a database, which those of the servers are copies of.
pub(super) async fn migrate(server: &ServerCommand, database: &str) -> Result<(), FlowError> {
    let output = command(server, "migrate")
        .env("DATABASE_URL", database)
        .env("GOTRUE_DB_DRIVER", "postgres")
        .env("API_EXTERNAL_URL", "http://localhost")
        .env("GOTRUE_SITE_URL", "http://localhost")
        .env("GOTRUE_JWT_SECRET", "only-for-the-creation-of-the-schema")
        .stdin(std::process::Stdio::null())
        .output()
        .await
        .map_err(|error| missing(server, &error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    let problem = format!("{} migrate: {}", server.program.display(), String::from_utf8_lossy(&printed).trim());
    Err(FlowError::new(problem, "the reference finds its migrations in the folder that --folder names"))
}

fn target(base: String, env: Map<String, Value>, names: Map<String, Value>, database: String) -> Target {
    let secret = env.get("GOTRUE_JWT_SECRET").and_then(Value::as_str).unwrap_or_default().to_owned();
    // Valid for as long as a run can take.
    let now = SystemClock.now().timestamp();
    let claims = json!({ "role": "service_role", "iss": "replay", "iat": now, "exp": now + 24 * 3600 });
    Target {
        project: base.clone(),
        base,
        profile: Profile::Gotrue,
        secret_key: Some(sign_token(&claims, &secret)),
        jwt_secret: Some(secret),
        env,
        names,
        database_url: Some(database),
        ..Target::default()
    }
}
