//! The files of the inbox page, and templates of the development pages.

use provider_simulator::fill_template;

/// The style sheet of the provider simulator's page.
pub(super) const STYLE: &str = concat!(
    include_str!("../../../../frontend/development/base.css"),
    include_str!("../../../../frontend/development/provider/page.css")
);
/// The style sheet of the inbox.
pub(super) const INBOX_STYLE: &str = concat!(
    include_str!("../../../../frontend/development/base.css"),
    include_str!("../../../../frontend/development/inbox/page.css")
);
pub(super) const INBOX_SCRIPT: &str = include_str!("../../../../frontend/dist/development/inbox/page.js");
const INBOX_TEMPLATE: &str = include_str!("../../../../frontend/development/inbox/page.html");

/// What the template of the inbox has in place of the links to the other pages.
const HEADER_PLACE: &str = "<!-- header -->";

/// Formats the page of the inbox, whose script and style need the same token as the page.
pub(super) fn format_inbox(token: Option<&str>, header: &str) -> String {
    let query = token.map(|token| format!("?token={token}")).unwrap_or_default();
    fill_template(INBOX_TEMPLATE, |_| &query).replace(HEADER_PLACE, header)
}
