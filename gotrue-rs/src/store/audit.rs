//! `auth.audit_log_entries`: writing and listing audit entries.
//!
//! Most rows are written in the statement of the audited action.

use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::audit::{AuditEntryJson, AuditSearch};
use gotrue_rules::wire::page::Page;
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// A row to insert.
#[derive(Debug, Clone)]
pub struct AuditRow {
    /// `id`.
    pub id: Uuid,
    /// `payload`.
    pub payload: Value,
    /// `created_at`.
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

/// The part of a statement that inserts audit rows.
///
/// Takes the numbers of four parameters: ids, payloads, times, addresses.
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

/// Inserts audit rows in a statement of their own; does nothing for an empty list.
pub async fn insert(db: &mut Connection, rows: Vec<AuditRow>) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows = AuditArrays::from_rows(rows);
    db.execute(&INSERT, args![rows.ids, rows.payloads, rows.times, rows.addresses]).await?;
    Ok(())
}

const PAGE: Statement = Statement {
    name: "audit_log_entries.page",
    sql: "WITH matching AS (
              SELECT e.id, e.created_at
              FROM audit_log_entries e
              WHERE e.instance_id = '00000000-0000-0000-0000-000000000000'
                AND ($2 = ''
                     OR EXISTS (SELECT
                                FROM unnest($1::text[]) AS m (name)
                                WHERE e.payload ->> m.name ILIKE '%' || $2 || '%'))
          ), page AS (
              SELECT m.id FROM matching m ORDER BY m.created_at DESC, m.id DESC LIMIT $3 OFFSET $4
          )
          SELECT t.total, e.id, e.payload, e.created_at, e.ip_address
          FROM (SELECT count(*) AS total FROM matching) AS t
          LEFT JOIN (page JOIN audit_log_entries e ON e.id = page.id) ON true
          ORDER BY e.created_at DESC, e.id DESC",
};

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
                created_at: row.try_get::<Option<Time>, _>("created_at")?.unwrap_or_default(),
                ip_address: row.try_get::<Option<String>, _>("ip_address")?.unwrap_or_default(),
            }),
            None => None,
        };
        Ok(Self { total: row.try_get("total")?, entry })
    }
}

/// Returns one page of the search result, newest first, and the number of entries on all pages.
pub async fn list_page(db: &mut Connection, search: AuditSearch<'_>, page: Page) -> Result<(Vec<AuditEntryJson>, u64)> {
    let values = args![search.members, search.text, page.limit(), page.offset()];
    let rows: Vec<PageRow> = db.fetch_all(&PAGE, values).await?;
    let total = rows.first().map_or(0, |row| row.total);
    let entries = rows.into_iter().filter_map(|row| row.entry).collect();
    Ok((entries, u64::try_from(total).unwrap_or(0)))
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[&INSERT, &PAGE];
