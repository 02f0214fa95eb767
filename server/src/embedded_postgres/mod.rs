//! A PostgreSQL of our own: its binaries found, a cluster made, the server kept running as a private child that listens on
//! a Unix socket only and ends with us, even after `kill -9`.
//!
//! No async here: the child is tied to the thread that starts it, so that thread is ours and lives as long as it does.

mod account;
mod binaries;
mod cluster;
mod guard;
mod links;
mod postmaster;
mod supervisor;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use binaries::Search;
pub use guard::{COMMAND as GUARD_COMMAND, run as run_guard};

use account::Account;
use binaries::Binaries;
use cluster::{Address, Cluster, Home};
use supervisor::{Plan, Supervisor};

/// The database that every cluster has from the start.
const DATABASE: &str = "postgres";

/// What to start.
#[derive(Debug)]
pub struct Options {
    /// The folder of this Basalt, which the caller holds: the cluster lives in `postgres/` below it, or where its account can reach it.
    pub data: PathBuf,
    /// Where to look for binaries.
    pub search: Search,
    /// Thrown away at the end: nothing is written safely to disk.
    pub ephemeral: bool,
}

/// A running PostgreSQL. Dropped or stopped, it shuts down in order.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    supervisor: Supervisor,
    address: Address,
    home: PathBuf,
    origin: String,
    ephemeral: bool,
}

/// Why there is no database.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No usable binaries on this machine.
    #[error("{0}")]
    NoBinaries(String),
    /// A program of PostgreSQL failed; what it said is part of the text.
    #[error("{0}")]
    Failed(String),
    /// A file or folder could not be read or written.
    #[error("{doing}: {source}")]
    Io {
        /// What we were doing, with the path.
        doing: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl EmbeddedPostgres {
    /// The role that may do everything.
    pub const SUPERUSER: &str = "postgres";

    /// Finds binaries, makes the cluster if there is none, starts the server and waits until it takes connections.
    /// Blocks for 20 ms on an existing cluster, for half a second on a new one: call it from a thread that may wait.
    pub fn start(options: &Options) -> Result<Self, StartError> {
        let account = Account::choose();
        let home = Home::choose(&options.data, account.as_ref())?;
        let binaries = Binaries::find(&options.search, home.major()?)?;
        let binaries = binaries.reachable_for(account.as_ref())?;
        postmaster::end_leftover(&home.pgdata())?;
        let cluster = Cluster::open_or_create(&home, &binaries, account.as_ref())?;
        let address = cluster.address();
        let origin = binaries.describe();
        let plan = Plan { binaries, cluster, account, ephemeral: options.ephemeral };
        let supervisor = Supervisor::start(plan)?;
        Ok(Self { supervisor, address, home: home.folder().to_owned(), origin, ephemeral: options.ephemeral })
    }

    /// `postgresql://role:…@%2Fsocket%2Ffolder:5432/postgres`, with the password in it, which is every role's.
    pub fn url(&self, role: &str) -> String {
        self.address.url(role)
    }

    /// The password of the superuser, and of the roles that are made with it.
    pub fn password(&self) -> &str {
        self.address.password()
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.home
    }

    /// Which binaries run, for a log line.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Shuts down in order and waits for the end. What is thrown away is removed, wherever it lies.
    pub fn stop(&self) {
        self.supervisor.stop();
        if self.ephemeral {
            let _ = std::fs::remove_dir_all(&self.home);
        }
    }
}

impl StartError {
    /// For `map_err`: wraps what the system said with what we were doing.
    fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

/// A command of PostgreSQL without the caller's `PG…` variables, which would change what it does.
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
