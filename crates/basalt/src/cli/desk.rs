//! `basalt desk`: definitions of the commands for the owner's desk.

use std::io::Write;

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use desk::SetupState;
use platform::clock::SystemClock;

use super::process::build_runtime;
use crate::announce::RunningServer;
use crate::logging;
use crate::project::Project;
use crate::serve::desk::{format_desk_url, format_reset_link, format_setup_link};
use crate::users::{DatabaseArguments, UserDatabase};

const EXAMPLES: &str = "Examples:
  basalt desk link
  basalt desk reset owner@example.com

The link makes the first owner, or lets an owner in who has lost password or authenticator: it is valid once, for 24
hours, and ends the links printed before. A reset ends the sessions, passkeys and recovery codes of the owner. The desk is
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

#[derive(Debug, Clone, Subcommand)]
enum DeskAction {
    /// Print a new link that makes the first owner
    Link,
    /// Print a link by which an owner chooses a new password and connects a new authenticator app
    Reset {
        /// The owner's e-mail address
        #[arg(value_name = "OWNER")]
        owner: String,
    },
}

/// Runs a command of the desk.
pub(super) fn run(arguments: &DeskArguments) -> anyhow::Result<()> {
    logging::start("warn", crate::config_file::LogFormat::Text, None)?;
    match &arguments.action {
        DeskAction::Link => build_runtime()?.block_on(print_link(&arguments.database)),
        DeskAction::Reset { owner } => build_runtime()?.block_on(print_reset_link(&arguments.database, owner)),
    }
}

async fn print_reset_link(arguments: &DatabaseArguments, owner: &str) -> anyhow::Result<()> {
    let (database, url) = connect(arguments).await?;
    let link = desk::create_reset_link(&database.pool, &SystemClock, &database.entropy, owner).await;
    database.close().await?;
    let token = link.context("creating the link")?;
    let token = token.with_context(|| format!("no owner of the desk has the address {owner}"))?;
    writeln!(std::io::stdout(), "{}", format_reset_link(&url, &token)).context("writing to standard output")
}

/// Connects to the database of a project with a desk; returns the URL of the desk, too.
async fn connect(arguments: &DatabaseArguments) -> anyhow::Result<(UserDatabase, String)> {
    let project = Project::load(&arguments.project)?;
    ensure!(
        project.has_desk(),
        "{} has no desk: it needs the table [basalt.shop], and [basalt.desk] enabled must not be false",
        project.layout.config.display()
    );
    let running = RunningServer::read(&project.data);
    let url = running.map_or_else(|| project.api_url(project.file.port()), |running| running.url);
    let url = project.desk_url(&url).to_owned();
    Ok((UserDatabase::connect(arguments).await?, url))
}

async fn print_link(arguments: &DatabaseArguments) -> anyhow::Result<()> {
    let (database, url) = connect(arguments).await?;
    let state = desk::create_link(&database.pool, &SystemClock, &database.entropy).await;
    database.close().await?;
    match state.context("creating the link")? {
        SetupState::Link(token) => {
            writeln!(std::io::stdout(), "{}", format_setup_link(&url, &token)).context("writing to standard output")
        }
        SetupState::Waiting | SetupState::Complete => bail!(
            "the shop has an owner, who signs in at {}/, and makes further owners there; `basalt desk reset OWNER` lets one in \
             who cannot sign in",
            format_desk_url(&url)
        ),
    }
}
