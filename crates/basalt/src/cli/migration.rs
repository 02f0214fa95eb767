//! `basalt migration`: files of migrations.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, Subcommand};
use platform::clock::{Clock, SystemClock};

use crate::project::{Project, ProjectArguments};

const EXAMPLES: &str = "Examples:
  basalt migration new create_notes         supabase/migrations/20260131120000_create_notes.sql
  basalt db diff --file create_notes        the same, with the SQL of what was changed in the database";

/// The longest name of a migration, in bytes; the file's name has at most 255.
const MAX_NAME: usize = 200;

/// The arguments of `basalt migration`.
#[derive(Debug, Args)]
pub(super) struct MigrationArguments {
    #[command(subcommand)]
    action: MigrationAction,
}

#[derive(Debug, Subcommand)]
enum MigrationAction {
    /// Create an empty migration, whose version is the present time in UTC
    New(NewArguments),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct NewArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// What the migration does, such as `create_notes`
    #[arg(value_name = "NAME")]
    name: String,
}

/// Runs a command for migrations.
pub(super) fn run(arguments: &MigrationArguments) -> anyhow::Result<()> {
    let MigrationAction::New(arguments) = &arguments.action;
    let project = Project::load(&arguments.project)?;
    let path = write_migration(&project, &arguments.name, "")?;
    Ok(writeln!(std::io::stdout(), "Created {}", path.display())?)
}

/// Creates a migration with the present time as version; returns its path from the root of the project.
///
/// # Errors
/// The name cannot be that of a file, or the file cannot be written.
pub(super) fn write_migration(project: &Project, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let name = name.trim().replace(' ', "_");
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(|next| next.is_control() || "/\\".contains(next)) {
        bail!("the name of a migration has 1 to {MAX_NAME} bytes and no slash, such as create_notes");
    }
    let folder = project.layout.supabase_folder().join("migrations");
    fs::create_dir_all(&folder).with_context(|| format!("making the folder {}", folder.display()))?;
    let path = folder.join(format!("{}_{name}.sql", find_free_version(&folder, SystemClock.now())?));
    let doing = || format!("writing {}", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).with_context(doing)?;
    file.write_all(text.as_bytes()).with_context(doing)?;
    Ok(path.strip_prefix(&project.layout.root).map_or_else(|_| path.clone(), Path::to_owned))
}

/// Returns the time as a version, or the first second after it that no migration has.
fn find_free_version(folder: &Path, now: DateTime<Utc>) -> anyhow::Result<String> {
    let doing = || format!("reading the folder {}", folder.display());
    let entries = fs::read_dir(folder).with_context(doing)?;
    let names: Vec<_> =
        entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>().with_context(doing)?;
    let mut time = now;
    loop {
        let version = time.format("%Y%m%d%H%M%S").to_string();
        if !names.iter().any(|name| name.as_encoded_bytes().starts_with(version.as_bytes())) {
            return Ok(version);
        }
        time += TimeDelta::seconds(1);
    }
}
