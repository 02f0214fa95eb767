//! `basalt submissions`: definitions of the commands for submissions.

use std::sync::Arc;

use clap::{Args, Subcommand};

use super::process::build_runtime;
use crate::logging;
use crate::project::Project;
use crate::submissions::{
    self, SubmissionDeleteArguments, SubmissionExportArguments, SubmissionListArguments, SubmissionSearchArguments,
    SubmissionShowArguments,
};
use crate::users::{DatabaseArguments, UserDatabase};

const EXAMPLES: &str = "Examples:
  basalt submissions list --status new
  basalt submissions search newsletter example.com
  basalt submissions show 0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001
  basalt submissions export submissions.csv --from 2026-11-01
  basalt submissions delete 0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001

These commands work with and without a running `basalt serve`. Replies are written at the owner's desk, /_desk.";

/// The arguments of `basalt submissions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SubmissionsArguments {
    #[command(flatten)]
    database: DatabaseArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List submissions, newest first
    List(SubmissionListArguments),
    /// List the submissions that have all the given words, newest first
    Search(SubmissionSearchArguments),
    /// Show a submission with its notes and messages
    Show(SubmissionShowArguments),
    /// Write submissions to a file, as CSV or JSON
    Export(SubmissionExportArguments),
    /// Delete submissions with their notes and messages
    Delete(SubmissionDeleteArguments),
}

/// Runs a command for submissions.
pub(super) fn run(arguments: SubmissionsArguments) -> anyhow::Result<()> {
    logging::start("warn", crate::config_file::LogFormat::Text, None)?;
    let catalogue = Arc::clone(&Project::load(&arguments.database.project)?.catalogue);
    build_runtime()?.block_on(async {
        let database = UserDatabase::connect(&arguments.database).await?;
        let outcome = run_action(&database, catalogue, arguments.action).await;
        database.close().await?;
        outcome
    })
}

async fn run_action(
    database: &UserDatabase,
    catalogue: Arc<crate::catalogue::Catalogue>,
    action: Action,
) -> anyhow::Result<()> {
    let opened = submissions::open(database, catalogue).await?;
    match action {
        Action::List(arguments) => submissions::list(&opened, &arguments).await,
        Action::Search(arguments) => submissions::search(&opened, &arguments).await,
        Action::Show(arguments) => submissions::show(&opened, &arguments).await,
        Action::Export(arguments) => submissions::export(&opened, &arguments).await,
        Action::Delete(arguments) => submissions::delete(&opened, &arguments).await,
    }
}
