//! An embedded PostgreSQL: finds its binaries, creates the cluster, runs the server.
//! The server is a private child process that listens on a Unix socket only and ends with this process, even after
//! `kill -9`.
//!
//! This module is not async: the child is tied to the thread that starts it, so a dedicated thread lives as long as the
//! child.

mod account;
mod binaries;
mod cluster;
mod guard;
mod links;
mod postmaster;
mod supervisor;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use binaries::BinarySearch;
pub use guard::{GUARD_ARGUMENT as GUARD_COMMAND, run as run_guard};

use account::Account;
use binaries::Binaries;
use cluster::{Cluster, ConnectionAddress, DatabaseFolder};
use supervisor::{ServerPlan, Supervisor};

/// The database that every cluster contains.
const DATABASE: &str = "postgres";

/// Options of the embedded server.
#[derive(Debug)]
pub struct EmbeddedOptions {
    /// The locked data folder.
    /// The cluster is in `postgres/` below it, or where its account can access it.
    pub data: PathBuf,
    /// Where to look for binaries.
    pub search: BinarySearch,
    /// The data is discarded at the end, so nothing is flushed to disk.
    pub ephemeral: bool,
}

/// A running PostgreSQL, shut down cleanly when dropped or stopped.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    supervisor: Supervisor,
    address: ConnectionAddress,
    home: PathBuf,
    origin: String,
    ephemeral: bool,
}

/// Reasons why the database could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There are no usable binaries on this machine.
    #[error("{0}")]
    NoBinaries(String),
    /// A program of PostgreSQL failed; its output is part of the text.
    #[error("{0}")]
    Failed(String),
    /// A file or folder could not be read or written.
    #[error("{doing}: {source}")]
    Io {
        /// The attempted operation, with the path.
        doing: String,
        /// The cause.
        source: std::io::Error,
    },
}

impl EmbeddedPostgres {
    /// The superuser role.
    pub const SUPERUSER: &str = "postgres";

    /// Finds binaries, creates the cluster if there is none, starts the server and waits for it.
    /// Blocks for 20 ms on an existing cluster, for half a second on a new one: call it from a blocking thread.
    pub fn start(options: &EmbeddedOptions) -> Result<Self, StartError> {
        let account = Account::choose();
        let home = DatabaseFolder::choose(&options.data, account.as_ref())?;
        let binaries = Binaries::find(&options.search, home.major()?)?;
        let binaries = binaries.copy_for(account.as_ref())?;
        postmaster::end_leftover(&home.pgdata())?;
        let cluster = Cluster::open_or_create(&home, &binaries, account.as_ref())?;
        let address = cluster.address();
        let origin = binaries.describe();
        let plan = ServerPlan { binaries, cluster, account, ephemeral: options.ephemeral };
        let supervisor = Supervisor::start(plan)?;
        Ok(Self { supervisor, address, home: home.folder().to_owned(), origin, ephemeral: options.ephemeral })
    }

    /// Returns `postgresql://role:…@%2Fsocket%2Ffolder:5432/postgres`, including the password.
    /// All roles share one password.
    pub fn url(&self, role: &str) -> String {
        self.address.url(role)
    }

    /// Returns the password of the superuser and of the roles created with it.
    pub fn password(&self) -> &str {
        self.address.password()
    }

    /// Returns the folder of its files.
    pub fn folder(&self) -> &Path {
        &self.home
    }

    /// Returns a description of the binaries, for logs.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Shuts the server down cleanly and waits for its end.
    /// Ephemeral data is removed.
    pub fn stop(&self) {
        self.supervisor.stop();
        if self.ephemeral {
            let _ = std::fs::remove_dir_all(&self.home);
        }
    }
}

impl StartError {
    /// For `map_err`: wraps an I/O error with the attempted operation.
    fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

/// Creates a PostgreSQL command without the caller's `PG…` variables, which would change its behaviour.
fn clean_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C").current_dir("/");
    command
}
