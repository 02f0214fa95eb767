//! Restores a backup into the data folder of a project.

use anyhow::Context;
use data_folder::DataFolder;
use embedded_postgres::backup::{Manifest, Restore, RestoreRequest};

use super::open_database::{OpenDatabase, refuse_external};
use crate::progress::progress_bar;
use crate::project::Project;

/// A restored database.
#[derive(Debug)]
pub(crate) struct Restored {
    /// The description of the backup.
    pub manifest: Manifest,
    /// The number of users.
    pub users: u64,
}

/// Restores into the project's data folder, which must be missing or empty.
///
/// # Errors
/// The folder is in use, the backup is damaged, or the recovery fails. Then everything that was created is removed.
pub(crate) async fn restore(project: &Project, request: RestoreRequest) -> anyhow::Result<Restored> {
    refuse_external(project)?;
    let (restore, folder) = Restore::begin(&project.data, request)?;
    let outcome = recover(project, folder, &restore).await;
    if outcome.is_err() {
        restore.undo();
    }
    outcome
}

async fn recover(project: &Project, folder: DataFolder, restore: &Restore) -> anyhow::Result<Restored> {
    let (data, unpacking) = (folder.path().to_owned(), restore.clone());
    let unpack = move || unpacking.unpack(&data, &progress_bar(0, true).with_message("unpacking"));
    let unpacked = tokio::task::spawn_blocking(unpack).await.context("unpacking the backup")??;
    eprintln!("Recovering the database …");
    let database = OpenDatabase::start(project, folder).await.map_err(|error| restore.explain_start(error))?;
    let users = database.session.count_users().await.context("counting the restored users");
    let folder = database.close().await?;
    let users = users?.try_into().unwrap_or_default();
    restore.complete(&unpacked)?;
    drop(folder);
    Ok(Restored { manifest: unpacked.manifest, users })
}
