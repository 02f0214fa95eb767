//! Rows of the audit log for what a request does. They ride along in the statement that does it.

use gotrue_rules::domain::audit::{Entry, payload};
use gotrue_rules::domain::user::Account;

use crate::cx::Cx;
use crate::store::audit::AuditRow;

/// The rows for these entries, in this order; none when the log is switched off.
pub fn rows(cx: &Cx, actor: &Account, entries: impl IntoIterator<Item = Entry>) -> Vec<AuditRow> {
    rows_from(cx, 0, actor, entries)
}

/// The same, after so many rows of this request that are written elsewhere.
pub fn rows_from(cx: &Cx, already: u32, actor: &Account, entries: impl IntoIterator<Item = Entry>) -> Vec<AuditRow> {
    if cx.app.policy.operation.audit_log_disable_postgres {
        return Vec::new();
    }
    let row = |(n, entry)| AuditRow {
        id: cx.entropy.uuid(),
        payload: payload(actor, entry),
        created_at: cx.stamp(n),
        ip_address: String::new(),
    };
    (already..).zip(entries).map(row).collect()
}
