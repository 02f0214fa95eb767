//! The SQL statements of the desk.

pub(crate) mod account;
pub(crate) mod catalogue;
pub(crate) mod checklist;
pub(crate) mod devices;
pub(crate) mod events;
pub(crate) mod figures;
pub(crate) mod files;
pub(crate) mod page_views;
pub(crate) mod recovery_codes;
pub(crate) mod reset_links;
pub(crate) mod sessions;
pub(crate) mod setup_links;
pub(crate) mod tickets;

use platform::store::Statement;
use platform::store::binding::statements;

statements! {
    modules: account, catalogue, checklist, devices, events, figures, files, page_views, recovery_codes, reset_links,
        sessions, setup_links, tickets;
}

/// Returns all statements of the desk, for the test that prepares them.
pub fn list_statements() -> Vec<&'static Statement> {
    STATEMENTS.list()
}
