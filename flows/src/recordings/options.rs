//! What is replayed, and with what.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is replayed, and with what.
#[derive(Debug, Clone)]
pub struct RecordingsOptions {
    /// The folder of the flows.
    pub flows: PathBuf,
    /// The folder with certificates of hosts that are reached by https only.
    pub certificates: PathBuf,
    /// The statements that prepare a database.
    pub bootstrap: PathBuf,
    /// The binary of the server.
    pub server: PathBuf,
    /// Globs over names of flows; all if there are none.
    pub only: Vec<String>,
    /// In how many flows one expected value is changed, and the seed of the choice.
    pub mutation: Option<(usize, String)>,
    /// How many servers run at once.
    pub jobs: usize,
    /// Whether servers connect through pgbouncer.
    pub uses_pooler: bool,
    /// The folder for temporary files.
    pub temporary: PathBuf,
    /// The folder for logs of servers.
    pub logs: PathBuf,
    /// The folder of PostgreSQL's programs, if it is not one of the system.
    pub programs: Option<PathBuf>,
    /// The search path of programs.
    pub search: OsString,
}

/// Returns the paths of a repository that the options need.
pub fn repository_options(repository: &Path, server: PathBuf) -> RecordingsOptions {
    let replay = repository.join("replay");
    RecordingsOptions {
        flows: replay.join("flows"),
        certificates: replay.join("harness/internet"),
        bootstrap: replay.join("bootstrap.sql"),
        server,
        only: Vec::new(),
        mutation: None,
        jobs: 3,
        uses_pooler: false,
        temporary: std::env::temp_dir(),
        logs: std::env::temp_dir().join("basalt-replay-logs"),
        programs: None,
        search: OsString::new(),
    }
}
