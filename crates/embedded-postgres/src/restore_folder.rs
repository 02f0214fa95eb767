//! The folder of a database that is restored: its files, their owner, and their removal if that fails.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use data_folder::durable::sync_file_system;

use crate::account::Account;
use crate::cluster::DatabaseFolder;
use crate::replacement::rename_cluster;
use crate::start_error::StartError;

/// The folder of a database that does not exist yet.
#[derive(Debug, Clone)]
pub(crate) struct RestoreFolder {
    folder: PathBuf,
    account: Option<Account>,
}

impl RestoreFolder {
    /// Creates the folder for a locked data folder.
    ///
    /// # Errors
    /// It has a database.
    pub(crate) fn create(data: &Path) -> Result<Self, StartError> {
        let account = Account::choose();
        let home = DatabaseFolder::choose(data, account.as_ref())?;
        if home.pgdata().exists() {
            return Err(StartError::Failed(format!("{} is a database already", home.pgdata().display())));
        }
        let created = Self { folder: home.folder().to_owned(), account };
        let left = created.unpacked();
        if left.exists() {
            fs::remove_dir_all(&left).map_err(StartError::io(format!("removing {}", left.display())))?;
        }
        Ok(created)
    }

    /// Returns where the data folder of PostgreSQL is unpacked.
    ///
    /// It is no database until [`RestoreFolder::complete`].
    pub(crate) fn unpacked(&self) -> PathBuf {
        self.folder.join("cluster.restored")
    }

    /// Returns the file of the password.
    pub(crate) fn password(&self) -> PathBuf {
        self.folder.join("password")
    }

    /// Gives a file or folder to PostgreSQL's account.
    pub(crate) fn own(&self, path: &Path) -> anyhow::Result<()> {
        let Some(account) = &self.account else { return Ok(()) };
        account.chown(path).with_context(|| format!("giving {} to PostgreSQL's account", path.display()))
    }

    /// Makes the unpacked folder the database once everything is on the disk.
    pub(crate) fn complete(&self) -> anyhow::Result<()> {
        flush(&self.folder)?;
        Ok(rename_cluster(&self.unpacked(), &self.folder.join("cluster"))?)
    }

    /// Writes everything to the disk, and the data folder too, which may be on another one.
    pub(crate) fn flush(&self, data: &Path) -> anyhow::Result<()> {
        flush(&self.folder)?;
        flush(data)
    }

    /// Writes a file of the stopped database.
    pub(crate) fn write_setting_file(&self, name: &str, content: &[u8]) -> anyhow::Result<()> {
        let path = self.folder.join("cluster").join(name);
        fs::write(&path, content).with_context(|| format!("writing {}", path.display()))?;
        self.own(&path)
    }

    /// Removes everything.
    pub(crate) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, folder = %self.folder.display(), "removing the partially restored database failed");
        }
    }
}

fn flush(folder: &Path) -> anyhow::Result<()> {
    sync_file_system(folder).with_context(|| format!("writing {} to the disk", folder.display()))
}
