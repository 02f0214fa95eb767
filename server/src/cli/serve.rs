//! `basalt serve`.

use clap::Args;

use super::process::build_runtime;
use crate::logging;
use crate::project::{Project, ProjectArguments};
use crate::serve::{ServeOptions, serve};

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
    /// The database; overrides `DATABASE_URL`, which keeps the password out of the process list
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Print exactly one line of JSON with URLs and keys on standard output when ready
    #[arg(long)]
    json: bool,
}

/// Serves until a signal arrives.
pub(super) fn run(arguments: &ServeArguments) -> anyhow::Result<()> {
    let project = Project::load(&arguments.project)?;
    let level = project.file.basalt.log_level.as_deref().or_else(|| project.vars.get("LOG_LEVEL")).unwrap_or("info");
    logging::start(level, project.file.basalt.log_format, None)?;
    if let Some(sentence) = project.file.unsupported_tables_notice() {
        tracing::info!(file = %project.file.path().display(), tables = sentence, "settings without effect");
    }
    let options = ServeOptions {
        port: arguments.port,
        ephemeral: arguments.ephemeral,
        database_url: arguments.database_url.clone(),
        json: arguments.json,
    };
    build_runtime()?.block_on(serve(project, options))
}
