//! `basalt db upgrade`: the embedded database on a newer major release of PostgreSQL.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::database_upgrade::{UpgradeOutcome, upgrade};
use crate::logging;
use crate::plural::format_count;
use crate::project::{Project, ProjectArguments};

/// The long help of the command.
pub(super) const UPGRADE_HELP: &str =
    "Move the embedded database to the newest major release of PostgreSQL on this machine

PostgreSQL opens only databases of its own major release. This command needs the programs of both: it copies roles,
tables, rows and sequences into a new database, compares everything, and replaces the old database, which is kept
beside it. The server must be stopped. Free space of the size of the database is needed.

The new release is that of PG_BIN_DIR, or the newest one that is found. Tables and functions of an application are
created again by the migrations of the project, or copied with pg_dump and pg_restore if other ones exist. If anything
fails or the command is interrupted, the old database is still there, and the command can be run again.";

const EXAMPLES: &str = "Examples:
  basalt db upgrade
  basalt db upgrade --data /var/lib/basalt --old-binaries /usr/lib/postgresql/15/bin";

/// The arguments of `basalt db upgrade`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct UpgradeArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The folder with the programs of the old release [default: where they are usually installed]
    #[arg(long, value_name = "DIR")]
    old_binaries: Option<PathBuf>,
}

/// Upgrades the database and prints what was done.
pub(super) fn run(arguments: &UpgradeArguments) -> anyhow::Result<()> {
    let project = Project::load(&arguments.project)?;
    logging::start("warn", LogFormat::Text, None)?;
    let outcome = build_runtime()?.block_on(Box::pin(upgrade(&project, arguments.old_binaries.clone())))?;
    let mut out = std::io::stdout().lock();
    match outcome {
        UpgradeOutcome::Current(major) => {
            writeln!(
                out,
                "The database is of PostgreSQL {major}, and no newer release was found: nothing was changed. PG_BIN_DIR names \
                 the folder of another one."
            )?;
        }
        UpgradeOutcome::Upgraded { release, summary, kept } => {
            let (rows, tables) = (format_count(summary.rows, "row"), format_count(summary.tables, "table"));
            writeln!(out, "The database is now of {release}: {rows} of {tables}.")?;
            writeln!(out, "The old one is kept in {}; remove it when the new one has proved itself.", kept.display())?;
            writeln!(out, "Make a new backup: earlier ones are restored by the old release of PostgreSQL only.")?;
            if project.file.basalt.archive.is_some() {
                writeln!(
                    out,
                    "Name a new folder as [basalt.database] archive: the present one is that of the old database."
                )?;
            }
        }
    }
    Ok(())
}
