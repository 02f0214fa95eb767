//! `basalt serve`.

use super::{Project, ServeArguments, build_runtime};
use crate::logging;
use crate::serve::{ServeOptions, serve};

/// Serves until a signal arrives.
pub fn run(arguments: &ServeArguments) -> anyhow::Result<()> {
    let project = Project::load(&arguments.project)?;
    let level = project.file.basalt.log_level.as_deref().or_else(|| project.vars.get("LOG_LEVEL")).unwrap_or("info");
    logging::start(level, project.file.basalt.log_format, None)?;
    if let Some(sentence) = project.file.unsupported_tables_notice() {
        tracing::info!("{}: {sentence}", project.file.path().display());
    }
    let options = ServeOptions {
        port: arguments.port,
        ephemeral: arguments.ephemeral,
        database_url: arguments.database_url.clone(),
        json: arguments.json,
    };
    build_runtime()?.block_on(serve(project, options))
}
