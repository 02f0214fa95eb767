//! `basalt serve`.

use super::{Project, ServeArguments, runtime};
use crate::logging;
use crate::serve::{Wishes, serve};

/// Serves until a signal ends it.
pub fn run(arguments: &ServeArguments) -> anyhow::Result<()> {
    let project = Project::open(&arguments.project)?;
    let level = project.file.basalt.log_level.as_deref().or_else(|| project.vars.get("LOG_LEVEL")).unwrap_or("info");
    logging::start(level, project.file.basalt.log_format, None)?;
    if let Some(sentence) = project.file.not_served() {
        tracing::info!("{}: {sentence}", project.file.path().display());
    }
    let wishes = Wishes {
        port: arguments.port,
        ephemeral: arguments.ephemeral,
        database_url: arguments.database_url.clone(),
        json: arguments.json,
    };
    runtime()?.block_on(serve(project, wishes))
}
