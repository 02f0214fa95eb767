//! Account commands: single accounts through the admin API, bulk operations through the tables.

mod accounts;
mod arguments;
mod database;
mod dump;
mod export;
mod import;
mod progress;
mod read;

pub use accounts::{add, ban, delete, list, show};
pub use arguments::{
    AddArguments, BanArguments, DatabaseArguments, DeleteArguments, ExportArguments, ImportArguments, ListArguments,
    ShowArguments,
};
pub use database::UserDatabase;
pub use export::export;
pub use import::import;
