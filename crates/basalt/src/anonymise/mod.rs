//! Anonymised copies of databases and exports: pseudonyms for personal data, no tokens, no secrets.

mod database;
mod metadata;
mod objects;
mod options;
mod pseudonyms;
mod rows;
mod rules;
mod store;

pub(crate) use database::{AnonymisationSummary, anonymise_database};
pub(crate) use objects::AnonymisedObjects;
pub(crate) use options::{Anonymisation, AnonymisationArguments};
pub(crate) use rows::RowRules;
pub(crate) use rules::has_rule;
pub(crate) use store::count_other_clients;
