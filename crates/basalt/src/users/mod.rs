//! Account commands: single accounts through the admin API, bulk operations through the tables.

mod accounts;
mod arguments;
mod database;
mod detect;
mod dump;
mod export;
mod import;
mod left_out_row;
mod lost;
mod privileges;
mod read;
mod read_list;
mod skip;
mod store;
mod summary;
mod table;

pub(crate) use accounts::{add, ban, delete, list, show};
pub(crate) use arguments::{
    AddArguments, BanArguments, DatabaseArguments, DeleteArguments, ExportArguments, ImportArguments, ListArguments,
    ShowArguments,
};
pub(crate) use database::UserDatabase;
pub(crate) use export::export;
pub(crate) use import::import;
