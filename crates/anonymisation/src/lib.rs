//! Anonymised copies of databases, exports and stored objects: pseudonyms for personal data, no tokens, no secrets.

mod database;
mod metadata;
mod objects;
mod pseudonyms;
mod rows;
mod rules;
mod store;

pub use database::{AnonymisationSummary, anonymise_database};
pub use objects::AnonymisedObjects;
pub use pseudonyms::Pseudonyms;
pub use rows::{Anonymisation, RowRules};
pub use rules::has_rule;
pub use store::count_other_clients;
