//! Backups of the embedded database and of the data folder, made while they are in use.

mod archive;
mod base_backup;
mod create;
mod manifest;
mod read;
mod restore;
mod session;
mod tar;
mod wal;

use platform::statements;

pub(crate) use archive::{WalArchive, end_archiving};
pub(crate) use create::create;
pub(crate) use manifest::Manifest;
pub(crate) use read::verify;
pub(crate) use restore::{RestoreRequest, restore};

statements! {
    modules: base_backup;
}
