//! `basalt desk`: definitions of the commands for the owner's desk.

use std::io::Write;

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use desk::SetupState;
use gotrue_rs::ports::clock::SystemClock;

use super::process::build_runtime;
use crate::announce::RunningServer;
use crate::logging;
use crate::project::Project;
use crate::serve::desk::{format_desk_url, format_setup_link};
use crate::users::{DatabaseArguments, UserDatabase};

const EXAMPLES: &str =
    "The link makes the first owner: it is valid once, for 24 hours, and ends the links printed before. The desk is
served with the shop ([basalt.shop] in config.toml) at /_desk.";

/// The arguments of `basalt desk`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DeskArguments {
    #[command(flatten)]
    database: DatabaseArguments,
    #[command(subcommand)]
    action: DeskAction,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum DeskAction {
    /// Print a new link that makes the first owner
    Link,
}

/// Runs a command of the desk.
pub(super) fn run(arguments: &DeskArguments) -> anyhow::Result<()> {
    logging::start("warn", crate::config_file::LogFormat::Text, None)?;
    match arguments.action {
        DeskAction::Link => build_runtime()?.block_on(print_link(&arguments.database)),
    }
}

async fn print_link(arguments: &DatabaseArguments) -> anyhow::Result<()> {
    let project = Project::load(&arguments.project)?;
    ensure!(
        project.has_desk(),
        "{} has no desk: it needs the table [basalt.shop], and [basalt.desk] enabled must not be false",
        project.layout.config.display()
    );
    let database = UserDatabase::connect(arguments).await?;
    let state = desk::create_link(&database.pool, &SystemClock, &database.entropy).await;
    database.close().await?;
    let running = RunningServer::read(&project.data);
    let url = running.map_or_else(|| project.api_url(project.file.port()), |running| running.url);
    let url = project.desk_url(&url);
    match state.context("creating the link")? {
        SetupState::Link(token) => {
            writeln!(std::io::stdout(), "{}", format_setup_link(url, &token)).context("writing to standard output")
        }
        SetupState::Waiting | SetupState::Complete => bail!(
            "the shop has an owner, who signs in at {}/; `app_metadata` of further owners has \"role\": \"owner\", which \
             PUT /auth/v1/admin/users/ID sets",
            format_desk_url(url)
        ),
    }
}
