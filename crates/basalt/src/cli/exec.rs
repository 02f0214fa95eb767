//! `basalt exec`: runs a command with a test server of its own.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use anyhow::Context;
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::process::build_runtime;
use super::serve::TestServerArguments;
use crate::logging;
use crate::project::{Project, ProjectArguments};
use crate::project_schema::ProjectReport;
use crate::serve::Server;
use crate::shutdown::Shutdown;

/// The arguments of `basalt exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The port [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    #[command(flatten)]
    test_server: TestServerArguments,
    /// The command and its arguments, after `--`
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command and returns its exit status.
///
/// A signal that ended it becomes 128 and the signal's number, as in shells. After a success the status tells whether
/// statements of the project were skipped.
pub(crate) fn run(arguments: &ExecArguments) -> anyhow::Result<ExitCode> {
    let project = Project::load(&arguments.project)?;
    let level = project.file.basalt.log_level.as_deref().or_else(|| project.vars.get("LOG_LEVEL")).unwrap_or("warn");
    logging::start(level, project.file.basalt.log_format, None)?;
    let (status, report) = build_runtime()?.block_on(run_with_server(project, arguments))?;
    if status.success() {
        return Ok(report.exit_code(arguments.test_server.allow_skipped));
    }
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

async fn run_with_server(project: Project, arguments: &ExecArguments) -> anyhow::Result<(ExitStatus, ProjectReport)> {
    let shutdown = Shutdown::new();
    let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
    // A terminal sends SIGINT to the command too, which decides whether it ends.
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
    let options = arguments.test_server.options(&project, Some(arguments.port), None);
    let mut starting = std::pin::pin!(Server::start(project, options, None, &shutdown));
    // A start that was dropped could leave its data folder: PostgreSQL starts on a blocking thread.
    let mut stopped_by = None;
    let server = loop {
        let signal = tokio::select! {
            server = &mut starting => break server?,
            _ = terminate.recv() => Signal::TERM,
            _ = interrupt.recv() => Signal::INT,
        };
        shutdown.begin();
        stopped_by.get_or_insert(signal);
    };
    let report = server.report().clone();
    if let Some(signal) = stopped_by {
        server.wait().await?;
        return Ok((ExitStatus::from_raw(signal.as_raw()), report));
    }
    let outcome = match spawn(&server, &arguments.command) {
        Ok(mut child) => loop {
            tokio::select! {
                status = child.wait() => break status.context("waiting for the command"),
                _ = terminate.recv() => forward(&child, Signal::TERM),
                _ = interrupt.recv() => {}
            }
        },
        Err(error) => Err(error),
    };
    shutdown.begin();
    server.wait().await?;
    outcome.map(|status| (status, report))
}

fn spawn(server: &Server, command: &[OsString]) -> anyhow::Result<Child> {
    let (program, arguments) = command.split_first().context("there is no command to run")?;
    Command::new(program)
        .args(arguments)
        .envs(server.announcement().client_variables())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("running {}", program.display()))
}

fn forward(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
        let _ = kill_process(pid, signal);
    }
}
