//! An embedded PostgreSQL: finds its binaries, creates the cluster, runs the server.
//! The server is a private child process that listens on a Unix socket only and ends with this process, even after
//! `kill -9`.
//!
//! This module is not async: the child is tied to the thread that starts it, so a dedicated thread lives as long as the
//! child.

mod account;
mod binaries;
mod cluster;
mod command;
mod guard;
mod links;
mod postmaster;
mod start_error;
mod supervisor;
mod system_folder;

use std::path::{Path, PathBuf};

pub(crate) use binaries::BinarySearch;
pub(crate) use guard::{GUARD_ARGUMENT as GUARD_COMMAND, run as run_guard};
pub(crate) use start_error::StartError;

use account::Account;
use binaries::Binaries;
use cluster::{Cluster, ConnectionAddress, DatabaseFolder};
use supervisor::{ServerPlan, Supervisor};

/// Options of the embedded server.
#[derive(Debug)]
pub(crate) struct EmbeddedOptions {
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
pub(crate) struct EmbeddedPostgres {
    supervisor: Supervisor,
    address: ConnectionAddress,
    home: PathBuf,
    origin: String,
    ephemeral: bool,
}

impl EmbeddedPostgres {
    /// The superuser role.
    pub(crate) const SUPERUSER: &str = cluster::SUPERUSER;

    /// Finds binaries, creates the cluster if there is none, starts the server and waits for it.
    /// Blocks for 20 ms on an existing cluster, for half a second on a new one: call it from a blocking thread.
    pub(crate) fn start(options: &EmbeddedOptions) -> Result<Self, StartError> {
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
    pub(crate) fn url(&self, role: &str) -> String {
        self.address.url(role)
    }

    /// Returns the password of the superuser and of the roles created with it.
    pub(crate) fn password(&self) -> &str {
        self.address.password()
    }

    /// Returns the folder of its files.
    pub(crate) fn folder(&self) -> &Path {
        &self.home
    }

    /// Returns a description of the binaries, for logs.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Shuts the server down cleanly and waits for its end.
    /// Ephemeral data is removed.
    pub(crate) fn stop(&self) {
        self.supervisor.stop();
        if self.ephemeral {
            let _ = std::fs::remove_dir_all(&self.home);
        }
    }
}
