//! `basalt status`: prints the URLs and keys of a project.

use std::io::Write;

use anyhow::bail;
use clap::Args;

use crate::announce::{Announcement, RunningServer};
use crate::api_keys;
use crate::project::{Project, ProjectArguments};

/// The arguments of `basalt status`.
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the announcement of `basalt serve` from the files in the data folder.
pub(super) fn run(arguments: &StatusArguments) -> anyhow::Result<()> {
    let project = Project::load(&arguments.project)?;
    let Some(keys) = api_keys::load(&project.data)? else {
        bail!(
            "nothing was started yet with the folder {}: `basalt serve` makes keys and database",
            project.data.display()
        );
    };
    let running = RunningServer::read(&project.data);
    let url = running.as_ref().map_or_else(|| project.api_url(project.file.port()), |running| running.url.clone());
    let announcement = Announcement::new(&url, &keys, running.as_ref().map(|running| running.database_url.as_str()));
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", announcement.into_json_status(running.is_some())?)?;
    } else {
        let state = if running.is_some() { "Basalt is running." } else { "Basalt is not running. Once it is:" };
        writeln!(out, "{}", announcement.to_text(state))?;
    }
    Ok(())
}
