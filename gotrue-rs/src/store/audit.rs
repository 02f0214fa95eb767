//! `auth.audit_log_entries`: writing and listing audit entries.
//!
//! Most rows are written in the statement of the audited action, which contains [`INSERT`]. `..audit` in `bind!` binds its
//! parameters to the fields of [`AuditArrays`].

use foundation::time::Time;
use gotrue_rules::wire::audit::{AuditEntryJson, AuditSearch};
use gotrue_rules::wire::page::Page;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

statements! {
    #[proves(Audit)]
    INSERT = "audit_log_entries.insert": "
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    PAGE = "audit_log_entries.page":
        "WITH matching AS (
             SELECT e.id, e.created_at
             FROM audit_log_entries e
             WHERE e.instance_id = '00000000-0000-0000-0000-000000000000'
               AND (:text = ''
                    OR EXISTS (SELECT
                               FROM unnest(:members::text[]) AS m (name)
                               WHERE e.payload ->> m.name ILIKE '%' || :text || '%'))
         ), page AS (
             SELECT m.id FROM matching m ORDER BY m.created_at DESC, m.id DESC LIMIT :limit OFFSET :offset
         )
         SELECT t.total, e.id, e.payload, e.created_at, e.ip_address
         FROM (SELECT count(*) AS total FROM matching) AS t
         LEFT JOIN (page JOIN audit_log_entries e ON e.id = page.id) ON true
         ORDER BY e.created_at DESC, e.id DESC";
}

/// A row to insert.
#[derive(Debug, Clone)]
pub struct AuditRow {
    pub id: Uuid,
    pub payload: Value,
    pub created_at: Time,
    /// `ip_address`; `""` for most actions, like the reference.
    pub ip_address: String,
}

/// Audit rows as column arrays, the form in which statements take them.
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
    /// Converts rows to column arrays.
    pub fn from_rows(rows: Vec<AuditRow>) -> Self {
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

/// Inserts audit rows in a statement of their own; does nothing for an empty list.
pub async fn insert(db: &mut Connection, rows: Vec<AuditRow>) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows = AuditArrays::from_rows(rows);
    db.execute(bind!(INSERT, ..rows)).await?;
    Ok(())
}

/// An entry of a page (`None` where the page is empty) and the number of entries on all pages.
struct PageRow {
    total: i64,
    entry: Option<AuditEntryJson>,
}

impl FromRow<'_, PgRow> for PageRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let entry = match row.try_get::<Option<Uuid>, _>("id")? {
            Some(id) => Some(AuditEntryJson {
                id,
                payload: row.try_get::<Option<Value>, _>("payload")?.unwrap_or_default(),
                created_at: <Option<Time> as TimeColumn>::read(row, "created_at")?.unwrap_or_default(),
                ip_address: row.try_get::<Option<String>, _>("ip_address")?.unwrap_or_default(),
            }),
            None => None,
        };
        Ok(Self { total: row.try_get("total")?, entry })
    }
}

/// Returns one page of the search result, newest first, and the number of entries on all pages.
pub async fn list_page(db: &mut Connection, search: AuditSearch<'_>, page: Page) -> Result<(Vec<AuditEntryJson>, u64)> {
    let bound = bind!(PAGE, members: search.members, text: search.text, limit: page.limit(), offset: page.offset());
    let rows: Vec<PageRow> = db.fetch_all(bound).await?;
    let total = rows.first().map_or(0, |row| row.total);
    let entries = rows.into_iter().filter_map(|row| row.entry).collect();
    Ok((entries, u64::try_from(total).unwrap_or(0)))
}
