//! The embedded server: its start, its addresses and its end.

use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::binaries::{Binaries, BinarySearch};
use crate::cluster::{
    Cluster, ConnectionAddress, DatabaseFolder, KEPT_PREFIX, NewCluster, PASSWORD_FILE, SUPERUSER, WalSegments,
};
use crate::dump_tools::DumpTools;
use crate::port::TcpPort;
use crate::postmaster;
use crate::prepared::{PreparedCluster, PreparedClusters};
use crate::start_error::StartError;
use crate::supervisor::{ServerPlan, Supervisor};

/// Options of the embedded server.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// The locked data folder.
    /// The cluster is in `postgres/` below it, or where its account can access it.
    pub data: PathBuf,
    /// Where to look for binaries.
    pub search: BinarySearch,
    /// The data is discarded at the end, so nothing is flushed to disk.
    pub ephemeral: bool,
    /// Nothing is flushed to disk while it runs, because the caller flushes everything at the end.
    pub flushed_at_end: bool,
    /// The port on 127.0.0.1, in addition to the socket.
    pub port: TcpPort,
    /// The size of the WAL segments of a new cluster.
    pub wal_segments: WalSegments,
    /// The prepared clusters, one of which is copied in place of creating a cluster.
    pub prepared: Option<PreparedClusters>,
}

/// A running PostgreSQL, shut down cleanly when dropped or stopped.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    pub(crate) supervisor: Supervisor,
    pub(crate) address: ConnectionAddress,
    pub(crate) home: PathBuf,
    pub(crate) origin: String,
    pub(crate) major: u32,
    pub(crate) ephemeral: bool,
}

impl EmbeddedPostgres {
    /// The superuser role.
    pub const SUPERUSER: &str = SUPERUSER;

    /// Finds binaries, creates the cluster if there is none, starts the server and waits for it.
    ///
    /// Blocks for 20 ms on an existing cluster, for half a second on a new one: call it from a blocking thread.
    pub fn start(options: &EmbeddedOptions) -> Result<Self, StartError> {
        let account = Account::choose();
        let home = DatabaseFolder::choose(&options.data, account.as_ref())?;
        let binaries = Binaries::find(&options.search, home.major()?)?;
        let binaries = binaries.copy_for(account.as_ref())?;
        postmaster::end_leftover(&home.pgdata())?;
        let is_new = home.major()?.is_none();
        let copied = options.prepared.as_ref().filter(|_| is_new).and_then(|clusters| {
            let prepared = clusters.entry(&binaries);
            copy_prepared(clusters, &prepared, options, &home, account.as_ref()).then_some(prepared)
        });
        match Self::start_in(&home, &binaries, account.as_ref(), options) {
            Err(error)
                if !matches!(error, StartError::PortTaken(_))
                    && let Some(prepared) = copied =>
            {
                tracing::warn!(%error, "the prepared database does not start, creating a new one");
                prepared.discard();
                std::fs::remove_dir_all(home.pgdata()).map_err(StartError::io("removing the copied database"))?;
                Self::start_in(&home, &binaries, account.as_ref(), options)
            }
            outcome => outcome,
        }
    }

    fn start_in(
        home: &DatabaseFolder,
        binaries: &Binaries,
        account: Option<&Account>,
        options: &EmbeddedOptions,
    ) -> Result<Self, StartError> {
        let mut attempts = options.port.attempts();
        let is_disposable = options.ephemeral || options.flushed_at_end;
        let new = NewCluster { wal_segments: options.wal_segments, is_flushed: !is_disposable };
        loop {
            let cluster = Cluster::open_or_create(home, binaries, account, new)?;
            let port = options.port.choose()?;
            let mut address = cluster.address(port);
            if options.port.has_published_password() {
                address = address.with_published_password();
            }
            let plan = ServerPlan {
                binaries: binaries.clone(),
                cluster,
                account: account.cloned(),
                ephemeral: is_disposable,
                port,
            };
            attempts -= 1;
            match Supervisor::start(plan) {
                Err(StartError::PortTaken(port)) if attempts > 0 => {
                    tracing::debug!(port, "another process took the free port, trying another one");
                }
                outcome => {
                    let (origin, home) = (binaries.describe(), home.folder().to_owned());
                    let (major, ephemeral) = (binaries.major(), options.ephemeral);
                    return Ok(Self { supervisor: outcome?, address, home, origin, major, ephemeral });
                }
            }
        }
    }

    /// Returns the data folder of PostgreSQL if the data folder `data` has a database.
    pub fn find_cluster(data: &Path) -> Option<PathBuf> {
        DatabaseFolder::find(data).map(|home| home.pgdata())
    }

    /// Removes the database of the locked data folder, which has no running server.
    ///
    /// What an upgrade has kept stays, with the password that it needs.
    pub fn remove(data: &Path) -> Result<(), StartError> {
        let home = DatabaseFolder::choose(data, Account::choose().as_ref())?;
        postmaster::end_leftover(&home.pgdata())?;
        remove_current(home.folder())
    }

    /// Returns the major release that a start in the data folder `data` uses; `None` if there is none.
    pub fn find_release(data: &Path, search: &BinarySearch) -> Option<u32> {
        let of_database = DatabaseFolder::find(data).and_then(|home| home.major().ok().flatten());
        of_database.or_else(|| Binaries::find(search, None).ok().map(|binaries| binaries.major()))
    }

    /// Returns how its roles connect.
    pub fn address(&self) -> &ConnectionAddress {
        &self.address
    }

    /// Returns the major release.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// Returns `postgresql://role:…@%2Fsocket%2Ffolder:5432/postgres`, including the password.
    /// All roles share one password.
    pub fn url(&self, role: &str) -> String {
        self.address.url(role)
    }

    /// Returns `postgresql://role:…@127.0.0.1:54322/postgres`, if the server listens on a port.
    pub fn tcp_url(&self, role: &str) -> Option<String> {
        self.address.tcp_url(role)
    }

    /// Copies the state of a snapshot to the empty database of another server. Blocks until that is done.
    pub fn copy_to(&self, other: &Self, snapshot: &str, tools: &DumpTools) -> Result<(), StartError> {
        tools.copy(&self.address, snapshot, &other.address)
    }

    /// Returns the password of the superuser of a new cluster and of the roles created with it.
    pub fn password(&self) -> &str {
        self.address.password()
    }

    /// Returns the password that the superuser gets; `None` if it has that already.
    pub fn superuser_password(&self) -> Option<&str> {
        // Only a lasting cluster may have that of an earlier start.
        let is_changed = !self.ephemeral || self.address.has_published_password();
        is_changed.then(|| self.address.password_of(Self::SUPERUSER))
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

/// Removes all that belongs to the current database in its folder.
fn remove_current(folder: &Path) -> Result<(), StartError> {
    let doing = || format!("removing the database in {}", folder.display());
    let entries: Vec<_> = std::fs::read_dir(folder).and_then(Iterator::collect).map_err(StartError::io(doing()))?;
    let is_kept = |entry: &std::fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(KEPT_PREFIX.as_bytes());
    if !entries.iter().any(is_kept) {
        return std::fs::remove_dir_all(folder).map_err(StartError::io(doing()));
    }
    for entry in entries.iter().filter(|entry| !is_kept(entry) && entry.file_name() != PASSWORD_FILE) {
        let path = entry.path();
        let is_folder = entry.file_type().map_err(StartError::io(doing()))?.is_dir();
        let removed = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(StartError::io(doing()))?;
    }
    Ok(())
}

/// Copies the prepared cluster, which is created first if there is none.
///
/// Returns whether there is a copy. Without one the server starts as if nothing were prepared: a failure costs time only.
fn copy_prepared(
    clusters: &PreparedClusters,
    prepared: &PreparedCluster,
    options: &EmbeddedOptions,
    home: &DatabaseFolder,
    account: Option<&Account>,
) -> bool {
    let copied = if prepared.exists() { Ok(true) } else { prepare(clusters, prepared, options) }.and_then(|is_there| {
        if is_there { prepared.copy_to(home.folder(), account).map(|()| true) } else { Ok(false) }
    });
    copied.unwrap_or_else(|error| {
        tracing::warn!(%error, "there is no prepared database, creating a new one");
        false
    })
}

/// Creates the prepared cluster; false if another process is creating it.
fn prepare(
    clusters: &PreparedClusters,
    prepared: &PreparedCluster,
    options: &EmbeddedOptions,
) -> Result<bool, StartError> {
    let Some(reservation) = prepared.reserve()? else { return Ok(false) };
    let building = EmbeddedOptions {
        data: reservation.folder().to_owned(),
        ephemeral: false,
        flushed_at_end: true,
        port: TcpPort::None,
        wal_segments: WalSegments::Small,
        prepared: None,
        ..options.clone()
    };
    let postgres = EmbeddedPostgres::start(&building)?;
    let filled = clusters.fill(&postgres.address);
    postgres.stop();
    filled.map_err(|error| StartError::Failed(format!("{error:#}")))?;
    reservation.complete(postgres.folder())?;
    Ok(true)
}
