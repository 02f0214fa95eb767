//! `users.encrypted_password`, where no other data of the user changes with it.

use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};

statements! {
    SET_PASSWORD = "accounts.set_password":
        "UPDATE users
         SET encrypted_password = :new_password
         WHERE id = :user_id
           AND encrypted_password = :old_password";

    #[proves(Audit)]
    DROP_PASSWORD = "accounts.drop_password": "
        WITH u AS (
            UPDATE users
            SET encrypted_password = ''
            WHERE id = :user_id
              AND encrypted_password = :old_password
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";
}

/// Replaces a password hash by another one of the same password, unless it has changed meanwhile.
pub async fn rehash(db: &mut Connection, user_id: Uuid, old: &str, new: &str) -> Result<u64> {
    db.execute(bind!(SET_PASSWORD, user_id, old_password: old, new_password: new)).await
}

/// Removes the password, unless it has changed meanwhile; writes the audit rows in any case.
pub async fn drop_password(db: &mut Connection, user_id: Uuid, old: &str, audit: Vec<AuditRow>) -> Result<()> {
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(DROP_PASSWORD, user_id, old_password: old, ..audit);
    db.execute(bound).await?;
    Ok(())
}
