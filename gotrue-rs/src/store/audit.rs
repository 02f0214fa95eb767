//! `auth.audit_log_entries`: rows that ride along in the statement that does what they tell of.

use gotrue_rules::domain::user::Time;
use serde_json::Value;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// A row to be written.
#[derive(Debug, Clone)]
pub struct AuditRow {
    /// `id`.
    pub id: Uuid,
    /// `payload`.
    pub payload: Value,
    /// `created_at`.
    pub created_at: Time,
    /// `ip_address`; `""` for most actions (`schema.md`).
    pub ip_address: String,
}

/// Rows as four arrays, the form in which statements take them.
#[derive(Debug, Default)]
pub struct AuditArrays {
    /// `id`s.
    pub ids: Vec<Uuid>,
    /// `payload`s as JSON text.
    pub payloads: Vec<String>,
    /// `created_at`s.
    pub times: Vec<Time>,
    /// `ip_address`es.
    pub addresses: Vec<String>,
}

impl AuditArrays {
    /// The rows' columns.
    pub fn of(rows: Vec<AuditRow>) -> Self {
        let mut arrays = Self::default();
        for row in rows {
            arrays.ids.push(row.id);
            arrays.payloads.push(row.payload.to_string());
            arrays.times.push(row.created_at);
            arrays.addresses.push(row.ip_address);
        }
        arrays
    }
}

/// The part of a statement that writes audit rows: the numbers of four parameters (ids, payloads, times, addresses).
macro_rules! audit_insert {
    ($ids:literal, $payloads:literal, $times:literal, $addresses:literal) => {
        concat!(
            "INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest($",
            $ids,
            "::uuid[], $",
            $payloads,
            "::text[], $",
            $times,
            "::timestamptz[], $",
            $addresses,
            "::text[]) AS e (id, payload, at, address)"
        )
    };
}
pub(crate) use audit_insert;

const INSERT: Statement = Statement { name: "audit_log_entries.insert", sql: audit_insert!(1, 2, 3, 4) };

/// Writes rows of their own; nothing to do without any.
pub async fn insert(db: &mut Connection, rows: Vec<AuditRow>) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows = AuditArrays::of(rows);
    db.execute(&INSERT, args![rows.ids, rows.payloads, rows.times, rows.addresses]).await?;
    Ok(())
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&INSERT];
