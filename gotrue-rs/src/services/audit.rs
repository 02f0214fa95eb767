//! Rows of the audit log for what a request does. They ride along in the statement that does it.

use gotrue_rules::domain::audit::{Entry, payload};
use gotrue_rules::domain::user::Account;

use crate::cx::Cx;
use crate::store::audit::AuditRow;

/// The rows for these entries, after those that the request had before; none when the log is switched off.
pub fn rows(cx: &Cx, actor: &Account, entries: impl IntoIterator<Item = Entry>) -> Vec<AuditRow> {
    if cx.app.policy.operation.audit_log_disable_postgres {
        return Vec::new();
    }
    let address = |entry: &Entry| cx.client_ip().filter(|_| entry.names_address());
    let row = |entry| AuditRow {
        id: cx.entropy.uuid(),
        ip_address: address(&entry).map(|address| address.to_string()).unwrap_or_default(),
        payload: payload(actor, entry),
        created_at: cx.stamp(),
    };
    entries.into_iter().map(row).collect()
}
