//! `basalt.decoys`: writes for a user that does not exist.
//!
//! They keep the duration of a request from revealing whether the user exists. The rows hold no data of the request.

use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::binding::{bind, statements};
use super::statement::Connection;

/// Inserts rows and deletes as many older ones; `:mail_id` of the outbox is deleted unless it is null.
macro_rules! write_decoys {
    () => {
        "WITH mail AS (
             DELETE FROM basalt.outbox WHERE id = :mail_id
         ), gone AS (
             DELETE FROM basalt.decoys
             WHERE id IN (SELECT d.id
                          FROM basalt.decoys d
                          WHERE d.created_at < :now::timestamptz - interval '1 second'
                          ORDER BY d.created_at
                          LIMIT :rows + 1
                          FOR UPDATE SKIP LOCKED)
         ), written AS (
             INSERT INTO basalt.decoys (id, owner, digest, relates_to, body, created_at)
             SELECT gen_random_uuid(), gen_random_uuid(), md5(random()::text), md5(random()::text), repeat('x', 600),
                    :now
             FROM generate_series(1, :rows)
         )
         "
    };
}

statements! {
    WRITE = "decoys.write": concat!(write_decoys!(), "SELECT count(*) FROM basalt.decoys WHERE false");

    WRITE_WITH_AUDIT = "decoys.write_with_audit": concat!(write_decoys!(), audit_insert!());
}

/// The number of rows that cost as much as a user with its identity and the audit row.
///
/// A token in both of its tables, with the audit row, costs as much.
pub const ROWS_PER_USER: i32 = 3;
/// Rows that, with two look-ups that find a user, cost as much as creating a user.
pub const ROWS_PER_NEW_USER: i32 = 1;
/// Rows that cost as much as the flow state of a PKCE request.
pub const ROWS_PER_FLOW: i32 = 1;

/// Inserts that many rows, and deletes a mail that was written in the same transaction.
pub async fn write(db: &mut Connection, rows: i32, mail: Option<Uuid>, now: Time) -> Result<()> {
    db.execute(bind!(WRITE, mail_id: mail, now, rows)).await?;
    Ok(())
}

/// Inserts that many rows, and real audit rows.
pub async fn write_with_audit(db: &mut Connection, rows: i32, audit: Vec<AuditRow>, now: Time) -> Result<()> {
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(WRITE_WITH_AUDIT, mail_id: None::<Uuid>, now, rows, ..audit);
    db.execute(bound).await?;
    Ok(())
}
