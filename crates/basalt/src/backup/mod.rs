//! Backups of the embedded database of a project: opens the database, and shows the progress on the terminal.
//!
//! What a backup consists of is in the crate `embedded-postgres`.

mod create;
mod open_database;
mod restore;

pub(crate) use create::{create, verify};
pub(crate) use open_database::connect;
pub(crate) use restore::restore;
