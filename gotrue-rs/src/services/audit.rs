//! Builds audit log rows, which are inserted by the statement that performs the action.

use gotrue_rules::domain::audit::{AuditEntry, build_audit_payload};
use gotrue_rules::domain::user::User;
use platform::journal::{Fact, FactCondition};

use crate::request_context::RequestContext;
use crate::store::audit::AuditRow;

/// Builds the rows of these entries; none if the audit log is disabled.
///
/// Their timestamps follow those of earlier rows of the request.
pub fn build_rows(cx: &RequestContext, actor: &User, entries: impl IntoIterator<Item = AuditEntry>) -> Vec<AuditRow> {
    if cx.app.policy.operation.audit_log_disable_postgres {
        return Vec::new();
    }
    let address = |entry: &AuditEntry| cx.client_ip().filter(|_| entry.has_client_address());
    let row = |entry| AuditRow {
        id: cx.entropy.uuid(),
        ip_address: address(&entry).map(|address| address.to_string()).unwrap_or_default(),
        payload: build_audit_payload(actor, entry),
        created_at: cx.next_timestamp(),
    };
    let rows: Vec<AuditRow> = entries.into_iter().map(row).collect();
    for row in &rows {
        let written = FactCondition::Statement;
        cx.note(written, || Fact::Audit { at: row.created_at, payload: row.payload.clone() });
    }
    rows
}
