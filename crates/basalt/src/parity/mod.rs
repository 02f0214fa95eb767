//! `basalt parity`: what becomes of the settings, services and data of an installation of Supabase.
//!
//! Secrets are never shown. The database is only read.

mod compose;
mod data_api;
mod database;
mod differences;
mod finding;
mod inspection;
mod interpolation;
mod keys;
mod lists;
mod report;
mod services;
mod sources;
mod switch;
mod variables;
mod yaml;

use platform::statements;

pub(crate) use database::inspect_database;
pub(crate) use report::{Report, write_json, write_text};
pub(crate) use sources::{Source, read_source};

statements! {
    modules: inspection;
}
