//! Backups of the embedded database and of the data folder, made while they are in use.
//!
//! The caller opens the database: [`BackupSession`] takes a pool of one connection of a superuser.

mod archive;
mod base_backup;
mod create;
mod manifest;
mod read;
mod restore;
mod tar;
mod wal;

use platform::statements;
use platform::store::Statement;

pub use archive::{WalArchive, end_archiving};
pub use base_backup::BackupSession;
pub use create::NewBackup;
pub use manifest::Manifest;
pub use read::verify;
pub use restore::{Restore, RestoreRequest, UnpackedBackup};

statements! {
    modules: base_backup;
}

/// Lists the SQL statements of backups.
pub fn list_statements() -> Vec<&'static Statement> {
    STATEMENTS.list()
}
