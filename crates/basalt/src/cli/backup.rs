//! `basalt backup` and `basalt restore`: definitions of the commands.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use embedded_postgres::backup::{Manifest, RestoreRequest};
use foundation::time::format_microseconds;
use platform::clock::{Clock, SystemClock};
use serde_json::json;

use super::process::build_runtime;
use crate::backup;
use crate::config_file::LogFormat;
use crate::logging;
use crate::plural::format_count;
use crate::project::{Project, ProjectArguments};

pub(super) const BACKUP_HELP: &str = "Back up the embedded database and the data folder into one file, while the server runs

Every transaction that committed before the end of the backup is in the file. It is a tar archive, compressed by gzip, with
the SHA-256 of each file, and is verified after it was written. It contains the keys of the data folder, the password of
the database and all password hashes: keep it as safe as the server. config.toml and .env are not in it.

Exit status 0: the backup is complete and verified; 1: there is none.";

pub(super) const RESTORE_HELP: &str = "Restore a backup into a new data folder

The folder of --data must be missing or empty. The sums of all files are verified, the database recovers up to the end of
the backup, or with --archive up to the end of the archive or the time of --until, and its users are counted. Nothing
remains if one of these fails. The server must not run yet; start it with the same --data afterwards.";

const EXAMPLES: &str = "Examples:
  basalt backup                                  a new file with the time in its name
  basalt backup /backups/shop.tar.gz --data /var/lib/basalt
  basalt backup verify /backups/shop.tar.gz      read it and compare all sums";

const RESTORE_EXAMPLES: &str = "Examples:
  basalt restore shop.tar.gz --data /var/lib/basalt-new
  basalt restore shop.tar.gz --data new --archive /backups/wal --until 2026-01-31T12:00:00Z";

/// The arguments of `basalt backup`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct BackupArguments {
    #[command(subcommand)]
    action: Option<BackupAction>,
    #[command(flatten)]
    project: ProjectArguments,
    /// The new file [default: basalt-TIME.tar.gz in the current folder]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print the description of the backup as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum BackupAction {
    /// Read a backup and compare the sums of all files; exit status 1 if it is truncated or changed
    Verify {
        /// The backup
        file: PathBuf,
        /// Print the description of the backup as JSON
        #[arg(long)]
        json: bool,
    },
}

/// The arguments of `basalt restore`.
#[derive(Debug, Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub(super) struct RestoreArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The backup
    file: PathBuf,
    /// The folder of `[basalt.database] archive`, with the changes since the backup
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Leave out transactions after this time, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", requires = "archive", value_parser = parse_time)]
    until: Option<DateTime<Utc>>,
    /// Print the folder, the number of its users and the description of the backup as JSON
    #[arg(long)]
    json: bool,
}

fn parse_time(text: &str) -> Result<DateTime<Utc>, String> {
    let parsed = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    parsed.map_err(|_| "it has the form 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00".to_owned())
}

/// Creates or verifies a backup.
pub(super) fn run(arguments: &BackupArguments) -> anyhow::Result<()> {
    logging::start("warn", LogFormat::Text, None)?;
    if let Some(BackupAction::Verify { file, json }) = &arguments.action {
        let manifest = backup::verify(file)?;
        return report(*json, &manifest, || format!("{} is complete: {}.", file.display(), describe(&manifest)));
    }
    let project = Project::load(&arguments.project)?;
    let time = SystemClock.now().format("%Y%m%dT%H%M%SZ");
    let file = arguments.file.clone().unwrap_or_else(|| format!("basalt-{time}.tar.gz").into());
    let file = std::path::absolute(&file).with_context(|| format!("finding {}", file.display()))?;
    let manifest = build_runtime()?.block_on(backup::create(&project, &file))?;
    let text = || {
        format!(
            "Wrote and verified {}: {}. It contains keys and password hashes: keep it safe.",
            file.display(),
            describe(&manifest)
        )
    };
    report(arguments.json, &manifest, text)
}

fn report(is_json: bool, manifest: &Manifest, text: impl Fn() -> String) -> anyhow::Result<()> {
    let text = if is_json { manifest.to_json(true).to_string() } else { text() };
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Describes a backup in one sentence.
fn describe(manifest: &Manifest) -> String {
    format!(
        "{} with {} MB of PostgreSQL {}, {}, complete up to {}",
        format_count(manifest.file_count(), "file"),
        manifest.bytes().div_ceil(1_000_000),
        manifest.postgres_major,
        format_count(manifest.users, "user"),
        format_microseconds(manifest.ended_at)
    )
}

/// Restores a backup.
pub(super) fn run_restore(arguments: RestoreArguments) -> anyhow::Result<()> {
    let project = Project::load(&arguments.project)?;
    logging::start("warn", LogFormat::Text, None)?;
    let RestoreArguments { file, archive, until, json: is_json, .. } = arguments;
    let restored = build_runtime()?.block_on(backup::restore(&project, RestoreRequest { file, archive, until }))?;
    if is_json {
        let backup = restored.manifest.to_json(true);
        let text = json!({ "data": project.data.to_string_lossy(), "users": restored.users, "backup": backup });
        return Ok(writeln!(std::io::stdout(), "{text}")?);
    }
    let text = format!(
        "Restored {} into {}; the backup has {}.\nStart the server with: basalt serve --data {}",
        format_count(restored.users, "user"),
        project.data.display(),
        describe(&restored.manifest),
        project.data.display()
    );
    Ok(writeln!(std::io::stdout(), "{text}")?)
}
