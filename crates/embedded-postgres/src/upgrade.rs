//! The clusters of an upgrade to another major release: their places, servers and replacement.

use std::fs;
use std::path::{Path, PathBuf};

use data_folder::durable::sync_file_system;

use crate::account::Account;
use crate::binaries::{Binaries, BinarySearch};
use crate::cluster::{Cluster, DatabaseFolder, KEPT_PREFIX, NewCluster, WalSegments, chown, copy_vault_key};
use crate::dump_tools::DumpTools;
use crate::postmaster;
use crate::replacement::{remove_folder, rename_cluster};
use crate::server::EmbeddedPostgres;
use crate::start_error::StartError;
use crate::supervisor::{ServerPlan, Supervisor};
use crate::system_folder::create_folder;

/// The folder of the incomplete one, with its password, socket and log.
const WORK: &str = "upgrade";
/// The part of a cluster that is not copied.
const LOG: &str = "pg_wal";
/// Space for the catalogs and the write-ahead log of the new cluster.
const SPACE_OF_EMPTY_CLUSTER: u64 = 400 << 20;

/// An upgrade, or that there is none.
pub enum PlannedUpgrade {
    /// The database is of the newest release on this machine, whose major number this is.
    Current(u32),
    /// The clusters.
    Needed(Box<ClusterUpgrade>),
}

/// The old and the new cluster of a locked data folder.
pub struct ClusterUpgrade {
    home: DatabaseFolder,
    work: DatabaseFolder,
    account: Option<Account>,
    old: Binaries,
    new: Binaries,
    search: BinarySearch,
}

/// How the server of the new cluster writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewServer {
    /// Quickly: the caller flushes everything at the end.
    Filling,
    /// As the server that will use it.
    Usual,
}

impl ClusterUpgrade {
    /// Finds the programs of both releases, and removes what an interrupted upgrade left.
    ///
    /// `old_binaries` is the folder of the programs that the database was made with; without it they are searched.
    ///
    /// # Errors
    /// There is no database, programs are missing, or an earlier upgrade kept a cluster where this one would.
    pub fn plan(data: &Path, search: &BinarySearch, old_binaries: Option<&Path>) -> Result<PlannedUpgrade, StartError> {
        let account = Account::choose();
        let home = DatabaseFolder::choose(data, account.as_ref())?;
        let Some(major) = home.major()? else {
            return Err(StartError::Failed(format!("{} has no embedded database", data.display())));
        };
        let Some(new) = Binaries::find_newer(search, major)? else { return Ok(PlannedUpgrade::Current(major)) };
        let old = Binaries::find_exact(search, old_binaries, major)?.copy_for(account.as_ref())?;
        let new = new.copy_for(account.as_ref())?;
        postmaster::end_leftover(&home.pgdata())?;
        let upgrade = Self { work: home.below(WORK), home, account, old, new, search: search.clone() };
        let kept = upgrade.kept();
        if kept.exists() {
            return Err(StartError::Failed(format!(
                "{} exists, where the old database is kept after an upgrade: move or remove it",
                kept.display()
            )));
        }
        upgrade.discard()?;
        Ok(PlannedUpgrade::Needed(Box::new(upgrade)))
    }

    /// Formats the release of the old cluster: `PostgreSQL 15.18 of /usr/lib/postgresql/15/bin`.
    pub fn describe_old(&self) -> String {
        self.old.describe()
    }

    /// Formats the release of the new cluster.
    pub fn describe_new(&self) -> String {
        self.new.describe()
    }

    /// Returns the major number of the new release.
    pub fn new_major(&self) -> u32 {
        self.new.major()
    }

    /// Returns where the old cluster is kept.
    pub fn kept(&self) -> PathBuf {
        self.home.folder().join(format!("{KEPT_PREFIX}{}", self.new.major()))
    }

    /// Finds `pg_dump` and `pg_restore` that can read the old release and write the new one.
    pub fn find_dump_tools(&self) -> Option<DumpTools> {
        DumpTools::find(&self.search, self.new.program("pg_dump").parent(), self.old.major()..=self.new.major())
    }

    /// Compares the size of the old cluster with the space that is left.
    ///
    /// # Errors
    /// There is not enough of it.
    pub fn check_space(&self) -> Result<(), StartError> {
        let folder = self.home.folder();
        let doing = || format!("measuring the space that is left in {}", folder.display());
        let system = rustix::fs::statvfs(folder).map_err(|error| StartError::io(doing())(error.into()))?;
        let available = system.f_bavail.saturating_mul(system.f_frsize);
        let size = measure(&self.home.pgdata()).map_err(StartError::io(doing()))?;
        match find_missing_space(size, available) {
            0 => Ok(()),
            missing => Err(StartError::Failed(format!(
                "the disk of {} has {} MB left, and the new database may need {} MB beside the old one: free {} MB",
                folder.display(),
                available >> 20,
                size.saturating_add(SPACE_OF_EMPTY_CLUSTER) >> 20,
                (missing >> 20) + 1
            ))),
        }
    }

    /// Starts the old cluster with a socket that no application knows.
    pub fn start_old(&self) -> Result<EmbeddedPostgres, StartError> {
        self.create_work_folder()?;
        let sockets = self.work.folder().join("old");
        create_folder(&sockets, 0o700)?;
        chown(&sockets, self.account.as_ref())?;
        let cluster = Cluster::open(&self.home, &sockets, self.account.as_ref())?;
        self.start(cluster, &self.old, NewServer::Usual)
    }

    /// Creates the new cluster with the password of the old one if there is none, and starts it.
    pub fn start_new(&self, server: NewServer) -> Result<EmbeddedPostgres, StartError> {
        if !self.work.pgdata().exists() {
            self.create_work_folder()?;
            let password = self.home.read_password()?;
            let new = NewCluster { wal_segments: WalSegments::Default, is_flushed: server == NewServer::Usual };
            Cluster::create(&self.work, &password, &self.new, self.account.as_ref(), new)?;
            copy_vault_key(&self.home.pgdata(), &self.work.pgdata(), self.account.as_ref())?;
        }
        let cluster = Cluster::open(&self.work, self.work.folder(), self.account.as_ref())?;
        self.start(cluster, &self.new, server)
    }

    /// Writes everything of the stopped new cluster to the disk.
    pub fn flush(&self) -> Result<(), StartError> {
        sync_file_system(self.work.folder()).map_err(StartError::io("writing the new database to the disk"))
    }

    /// Makes the stopped new cluster the database; returns where the old one is kept.
    pub fn complete(&self) -> Result<PathBuf, StartError> {
        let kept = self.kept();
        let steps = [
            (self.work.pgdata(), self.home.upgraded()),
            (self.home.pgdata(), kept.clone()),
            (self.home.upgraded(), self.home.pgdata()),
        ];
        for (from, to) in steps {
            rename_cluster(&from, &to)?;
        }
        // What remains is removed by the next upgrade.
        drop(self.discard());
        Ok(kept)
    }

    /// Removes the new cluster unless it is the database already.
    pub fn discard(&self) -> Result<(), StartError> {
        postmaster::end_leftover(&self.work.pgdata())?;
        remove_folder(self.work.folder())
    }

    fn create_work_folder(&self) -> Result<(), StartError> {
        create_folder(self.work.folder(), 0o700)?;
        chown(self.work.folder(), self.account.as_ref())
    }

    fn start(&self, cluster: Cluster, binaries: &Binaries, server: NewServer) -> Result<EmbeddedPostgres, StartError> {
        let (address, home) = (cluster.address(None), self.home.folder().to_owned());
        let plan = ServerPlan {
            binaries: binaries.clone(),
            cluster,
            account: self.account.clone(),
            ephemeral: server == NewServer::Filling,
            port: None,
        };
        let (supervisor, origin) = (Supervisor::start(plan)?, binaries.describe());
        Ok(EmbeddedPostgres { supervisor, address, home, origin, major: binaries.major(), ephemeral: false })
    }
}

/// Returns the bytes of the files of a cluster without its write-ahead log.
fn measure(folder: &Path) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        size += match entry.file_name() {
            name if name == LOG => 0,
            _ if meta.is_dir() => measure(&entry.path())?,
            _ => meta.len(),
        };
    }
    Ok(size)
}

/// Returns how many bytes are missing for a second database of this size.
fn find_missing_space(size: u64, available: u64) -> u64 {
    size.saturating_add(SPACE_OF_EMPTY_CLUSTER).saturating_sub(available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_for_a_second_database_and_its_log_is_needed() {
        let empty = SPACE_OF_EMPTY_CLUSTER;
        for (size, available, missing) in
            [(0, empty, 0), (0, empty - 1, 1), (1 << 40, empty, 1 << 40), (u64::MAX, 1, u64::MAX - 1), (5, u64::MAX, 0)]
        {
            assert_eq!(find_missing_space(size, available), missing, "{size} of {available}");
        }
    }
}
