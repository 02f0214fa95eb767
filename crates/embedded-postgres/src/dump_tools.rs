//! PostgreSQL's programs for dumps, which the embedded binaries do not contain.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::binaries::{BinarySearch, candidate_folders, parse_version};
use crate::cluster::{ConnectionAddress, DATABASE};
use crate::command::clean_command;
use crate::start_error::StartError;

/// `pg_dump` and `pg_restore` of one release.
#[derive(Debug, Clone)]
pub struct DumpTools {
    folder: PathBuf,
    major: u32,
}

impl DumpTools {
    /// Finds the newest ones within these major releases.
    ///
    /// `first` is the folder of the new release's programs.
    pub(crate) fn find(search: &BinarySearch, first: Option<&Path>, majors: RangeInclusive<u32>) -> Option<Self> {
        let folders =
            first.map(Path::to_owned).into_iter().chain(search.bin_dir.clone()).chain(candidate_folders(search));
        let usable = folders.filter_map(Self::from_folder).filter(|tools| majors.contains(&tools.major));
        usable.max_by_key(|tools| tools.major)
    }

    fn from_folder(folder: PathBuf) -> Option<Self> {
        if !folder.join("pg_restore").is_file() {
            return None;
        }
        let output = clean_command(&folder.join("pg_dump")).arg("--version").output().ok()?;
        let (_, major) = parse_version(String::from_utf8_lossy(&output.stdout).trim())?;
        Some(Self { folder, major })
    }

    /// Formats a description such as `pg_dump 17 of /usr/lib/postgresql/17/bin`.
    pub fn describe(&self) -> String {
        format!("pg_dump {} of {}", self.major, self.folder.display())
    }

    /// Copies the state of a snapshot to an empty database; returns what a failed program wrote.
    pub(crate) fn copy(
        &self,
        from: &ConnectionAddress,
        snapshot: &str,
        to: &ConnectionAddress,
    ) -> Result<(), StartError> {
        let mut dump = self.command("pg_dump", from);
        dump.args(["--format=custom", "--compress=0", "--no-password", "--snapshot", snapshot]);
        let dump = dump.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut dump = dump.map_err(StartError::io("starting pg_dump"))?;
        let rows = dump.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let mut restore = self.command("pg_restore", to);
        restore.args(["--exit-on-error", "--no-password", "--dbname", DATABASE]);
        let restore = restore.stdin(rows).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let restore = restore.map_err(StartError::io("starting pg_restore"))?;
        // Each program waits until its messages are read.
        let (dump_outcome, restore_outcome) = std::thread::scope(|scope| {
            let restoring = scope.spawn(|| wait(restore, "pg_restore"));
            (wait(dump, "pg_dump"), restoring.join())
        });
        restore_outcome.unwrap_or_else(|_| Err(StartError::Failed("waiting for pg_restore failed".to_owned())))?;
        dump_outcome
    }

    /// The password is passed by the environment, which other accounts cannot read.
    fn command(&self, program: &str, address: &ConnectionAddress) -> Command {
        let mut command = clean_command(&self.folder.join(program));
        command.envs(address.variables());
        command
    }
}

/// Waits for the end of a program; a failed one is an error with its messages.
fn wait(program: Child, name: &str) -> Result<(), StartError> {
    let output = program.wait_with_output().map_err(StartError::io(format!("waiting for {name}")))?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    Err(StartError::Failed(format!("{name} failed ({}): {}", output.status, messages.trim())))
}
