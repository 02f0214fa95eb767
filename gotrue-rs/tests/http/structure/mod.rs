//! Rules for the statements, the errors and the settings, and for the documents that are made of them.
//!
//! Rules that need only the text of the sources are tests of `source-rules`.

mod compatibility;
mod errors;
mod hardening;
mod placeholders;
mod plans;
mod round_trips;
mod shape;
mod statement_counts;
mod statements;

use platform::store::Statement;

/// All statements of this crate and of the crate `platform`.
pub(crate) fn list_statements() -> impl Iterator<Item = &'static Statement> {
    gotrue_rs::store::list_statements().chain(platform::store::list_statements())
}
