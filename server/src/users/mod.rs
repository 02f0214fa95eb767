//! Accounts by the command line: one at a time through the admin API, in bulk through the tables.

mod accounts;
mod bar;
mod dump;
mod export;
mod import;
mod place;
mod read;

pub use accounts::{add, ban, delete, list, show};
pub use export::export;
pub use import::import;
pub use place::Place;
