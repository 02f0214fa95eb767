//! `basalt serve`.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use embedded_postgres::TcpPort;
use gotrue_rs::config::load_telemetry;

use super::process::build_runtime;
use crate::logging;
use crate::otlp::OtlpExporter;
use crate::project::{Project, ProjectArguments};
use crate::reload::format_problems;
use crate::serve::{ServeOptions, TestOptions, serve};

/// The arguments of `basalt serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The port; overrides `[api] port`; 0 selects a free one
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Use a temporary folder and database that are removed at the end; `DATABASE_URL` is ignored
    #[arg(long, conflicts_with = "data")]
    ephemeral: bool,
    /// Serve a test run: temporary, local, without rate limits and shop; ends with its parent process
    ///
    /// Passwords are hashed at the lowest cost, tokens are signed with ES256, e-mail stays in the inbox, and the
    /// database listens on a port of 127.0.0.1 too. Limits that the configuration sets apply.
    #[arg(long, conflicts_with = "data")]
    test: bool,
    /// With --test: keep running after the parent process has ended
    #[arg(long, requires = "test")]
    detach: bool,
    #[command(flatten)]
    test_server: TestServerArguments,
    /// The database; overrides `DATABASE_URL`, which keeps the password out of the process list
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Print exactly one line of JSON with URLs and keys on standard output when ready
    #[arg(long)]
    json: bool,
}

/// Arguments of test servers.
#[derive(Debug, Args)]
pub(crate) struct TestServerArguments {
    /// For tests: the database's port; 0 selects a free one [default: `[db] port`, else free]
    #[arg(long, value_name = "N")]
    db_port: Option<u16>,
    /// For tests: use the keys that the Supabase CLI publishes
    #[arg(long)]
    demo_keys: bool,
    /// For tests: exit status 0 although statements of the project's files were skipped
    #[arg(long)]
    pub(super) allow_skipped: bool,
}

impl TestServerArguments {
    /// Returns the options of a test server.
    ///
    /// A free port for requests means free ports for everything, so that several servers of one project can run.
    pub(crate) fn options(&self, project: &Project, port: Option<u16>, database_url: Option<String>) -> ServeOptions {
        let configured = || project.file.database_port().filter(|_| port != Some(0));
        let database_port = match self.db_port.or_else(configured) {
            None | Some(0) => TcpPort::Free,
            Some(port) => TcpPort::Fixed(port),
        };
        let is_set = project.file.is_set("api.port");
        ServeOptions {
            port: port.or((!is_set).then_some(0)),
            ephemeral: true,
            database_url,
            database_port,
            test: Some(TestOptions { has_demo_keys: self.demo_keys, allows_skipped: self.allow_skipped }),
        }
    }
}

/// Serves until a signal arrives.
pub(super) fn run(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    let TestServerArguments { db_port, demo_keys, allow_skipped } = &arguments.test_server;
    if !arguments.test && (*demo_keys || *allow_skipped || db_port.is_some()) {
        bail!("--demo-keys, --allow-skipped and --db-port are for test servers: add --test");
    }
    // The folder may be given before the command, where the parser does not compare it with these.
    if (arguments.test || arguments.ephemeral) && arguments.project.data.is_some() {
        bail!("--test and --ephemeral use a temporary folder: leave --data out");
    }
    let project = Project::load(&arguments.project)?;
    let level = project.file.basalt.log_level.as_deref().or_else(|| project.vars.get("LOG_LEVEL")).unwrap_or("info");
    let telemetry = load_telemetry(&project.vars).map_err(|problems| anyhow::Error::msg(format_problems(&problems)));
    let (telemetry, notices) = telemetry?;
    let telemetry = OtlpExporter::prepare(telemetry.as_ref());
    logging::start(level, project.file.basalt.log_format, None)?;
    logging::log_notices(&notices);
    if let Some(sentence) = project.file.unsupported_tables_notice() {
        tracing::info!(file = %project.file.path().display(), tables = sentence, "settings without effect");
    }
    let database_url = arguments.database_url.clone();
    let options = if arguments.test {
        arguments.test_server.options(&project, arguments.port, database_url)
    } else {
        ServeOptions {
            port: arguments.port,
            ephemeral: arguments.ephemeral,
            database_url,
            database_port: TcpPort::None,
            test: None,
        }
    };
    build_runtime()?.block_on(serve(project, options, telemetry, arguments.json, arguments.test && !arguments.detach))
}
