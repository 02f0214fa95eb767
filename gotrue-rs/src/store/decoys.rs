//! `basalt.decoys`: writes in place of those of an account that does not exist, so that the duration of a request does not
//! tell which it is. The rows hold nothing of the request.

use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::statement::{Connection, Statement, args};

/// Rows that cost as much as an account with its identity, or a secret in both its homes, with the audit row.
pub const OF_ACCOUNT: i32 = 3;
/// Rows that cost, beside two look-ups that find the account, as much as an account that is made.
pub const OF_NEW_ACCOUNT: i32 = 1;
/// Rows that cost as much as the flow of a PKCE request.
pub const OF_FLOW: i32 = 1;

/// Writes rows and deletes as many older ones; `$1` of the outbox is deleted unless it is null.
macro_rules! write_decoys {
    () => {
        "WITH mail AS (
             DELETE FROM basalt.outbox WHERE id = $1
         ), gone AS (
             DELETE FROM basalt.decoys
             WHERE id IN (SELECT d.id
                          FROM basalt.decoys d
                          WHERE d.created_at < $2::timestamptz - interval '1 second'
                          ORDER BY d.created_at
                          LIMIT $3 + 1
                          FOR UPDATE SKIP LOCKED)
         ), written AS (
             INSERT INTO basalt.decoys (id, owner, digest, relates_to, body, created_at)
             SELECT gen_random_uuid(), gen_random_uuid(), md5(random()::text), md5(random()::text), repeat('x', 600), $2
             FROM generate_series(1, $3)
         )
         "
    };
}

const WRITE: Statement =
    Statement { name: "decoys.write", sql: concat!(write_decoys!(), "SELECT count(*) FROM basalt.decoys WHERE false") };

/// Writes so many rows, and deletes a mail that was written in the same transaction.
pub async fn write(db: &mut Connection, rows: i32, mail: Option<Uuid>, now: Time) -> Result<()> {
    db.execute(&WRITE, args![mail, now, rows]).await?;
    Ok(())
}

const WRITE_WITH_AUDIT: Statement =
    Statement { name: "decoys.write_with_audit", sql: concat!(write_decoys!(), audit_insert!(4, 5, 6, 7)) };

/// Writes so many rows, and audit rows that are meant.
pub async fn write_with_audit(db: &mut Connection, rows: i32, audit: Vec<AuditRow>, now: Time) -> Result<()> {
    let audit = AuditArrays::of(audit);
    let values = args![None::<Uuid>, now, rows, audit.ids, audit.payloads, audit.times, audit.addresses];
    db.execute(&WRITE_WITH_AUDIT, values).await?;
    Ok(())
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&WRITE, &WRITE_WITH_AUDIT];
