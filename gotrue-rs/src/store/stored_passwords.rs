//! `users.encrypted_password`, where no other data of the user changes with it.

use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::statement::{Connection, Statement, args};

const SET_PASSWORD: Statement = Statement {
    name: "accounts.set_password",
    sql: "UPDATE users SET encrypted_password = $3 WHERE id = $1 AND encrypted_password = $2",
};

/// Replaces a password hash by another one of the same password, unless it has changed meanwhile.
pub async fn rehash(db: &mut Connection, user_id: Uuid, old: &str, new: &str) -> Result<u64> {
    db.execute(&SET_PASSWORD, args![user_id, old, new]).await
}

const DROP_PASSWORD: Statement = Statement {
    name: "accounts.drop_password",
    sql: concat!(
        "WITH u AS (UPDATE users SET encrypted_password = '' WHERE id = $1 AND encrypted_password = $2) ",
        audit_insert!(3, 4, 5, 6)
    ),
};

/// Removes the password, unless it has changed meanwhile; writes the audit rows in any case.
pub async fn drop_password(db: &mut Connection, user_id: Uuid, old: &str, audit: Vec<AuditRow>) -> Result<()> {
    let audit = AuditArrays::from_rows(audit);
    let values = args![user_id, old, audit.ids, audit.payloads, audit.times, audit.addresses];
    db.execute(&DROP_PASSWORD, values).await?;
    Ok(())
}

/// All statements of this file.
pub const ALL: &[&Statement] = &[&SET_PASSWORD, &DROP_PASSWORD];
