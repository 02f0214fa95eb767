//! Creates and verifies backups.

use std::path::Path;

use anyhow::Context;
use embedded_postgres::backup::{self, Manifest, NewBackup};

use super::open_database::OpenDatabase;
use crate::progress::progress_bar;
use crate::project::Project;

/// Writes a backup of the project's embedded database and data folder to a new file, and verifies it.
///
/// # Errors
/// The file exists, the database is external, or a file cannot be read or written. No partial file remains.
pub(crate) async fn create(project: &Project, file: &Path) -> anyhow::Result<Manifest> {
    let archive = project.file.basalt.archive.as_ref().map(|archive| project.layout.folder.join(&archive.folder));
    let backup = NewBackup { file: file.to_owned(), data: project.data.clone(), archive };
    backup.check_place()?;
    let database = OpenDatabase::open(project).await?;
    let written = backup.write(&database.session, progress_bar(0, true).with_message("copying")).await;
    database.close().await?;
    written?;
    let verifying = move || backup.verify(&progress_bar(0, true).with_message("verifying"));
    tokio::task::spawn_blocking(verifying).await.context("verifying the backup")?
}

/// Verifies a backup.
///
/// # Errors
/// The file is truncated, changed, incomplete, or no backup.
pub(crate) fn verify(file: &Path) -> anyhow::Result<Manifest> {
    backup::verify(file, &progress_bar(0, true).with_message("verifying"))
}
