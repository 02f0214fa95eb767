//! `basalt.decoys`: writes for a user that does not exist.
//!
//! They keep the duration of a request from revealing whether the user exists. The rows hold no data of the request.
//! Their numbers are measured: the statement then takes as long as the one that it stands for. Statements differ in
//! nothing but the number.
//!
//! The number is a part of the text: with a parameter PostgreSQL would plan the statement for each request, which takes
//! as long as running it. The clean-up deletes the rows, because deleting expired rows reads index entries of those that
//! earlier requests deleted. Each statement also deletes the mail `:mail_id`, if there is one; of `:user` only the length
//! counts.

use foundation::time::Time;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use serde_json::Value;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};

statements! {
    WRITE_FLOW = "decoys.write_flow": "
        WITH mail AS (
            DELETE FROM basalt.outbox WHERE id = :mail_id
        ), written AS (
            INSERT INTO basalt.decoys (id, owner, digest, relates_to, body, created_at)
            SELECT gen_random_uuid(), gen_random_uuid(), md5(random()::text), md5(random()::text),
                   repeat('x', 600 + COALESCE(length(:user::jsonb::text), 0) % 2), :now
            FROM generate_series(1, 1)
        )
        SELECT count(*) FROM basalt.decoys WHERE false";

    WRITE_TOKEN = "decoys.write_token": "
        WITH mail AS (
            DELETE FROM basalt.outbox WHERE id = :mail_id
        ), written AS (
            INSERT INTO basalt.decoys (id, owner, digest, relates_to, body, created_at)
            SELECT gen_random_uuid(), gen_random_uuid(), md5(random()::text), md5(random()::text),
                   repeat('x', 600 + COALESCE(length(:user::jsonb::text), 0) % 2), :now
            FROM generate_series(1, 2)
        )
        SELECT count(*) FROM basalt.decoys WHERE false";

    WRITE_USER = "decoys.write_user": "
        WITH mail AS (
            DELETE FROM basalt.outbox WHERE id = :mail_id
        ), written AS (
            INSERT INTO basalt.decoys (id, owner, digest, relates_to, body, created_at)
            SELECT gen_random_uuid(), gen_random_uuid(), md5(random()::text), md5(random()::text),
                   repeat('x', 600 + COALESCE(length(:user::jsonb::text), 0) % 2), :now
            FROM generate_series(1, 6)
        )
        SELECT count(*) FROM basalt.decoys WHERE false";

    #[proves(Audit)]
    WRITE_USER_WITH_AUDIT = "decoys.write_user_with_audit": "
        WITH mail AS (
            DELETE FROM basalt.outbox WHERE id = :mail_id
        ), written AS (
            INSERT INTO basalt.decoys (id, owner, digest, relates_to, body, created_at)
            SELECT gen_random_uuid(), gen_random_uuid(), md5(random()::text), md5(random()::text),
                   repeat('x', 600 + COALESCE(length(:user::jsonb::text), 0) % 2), :now
            FROM generate_series(1, 5)
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    /// Fewer rows, because the update takes time, too.
    #[proves(Audit)]
    DROP_PASSWORD = "decoys.drop_password": "
        WITH mail AS (
            DELETE FROM basalt.outbox WHERE id = :mail_id
        ), written AS (
            INSERT INTO basalt.decoys (id, owner, digest, relates_to, body, created_at)
            SELECT gen_random_uuid(), gen_random_uuid(), md5(random()::text), md5(random()::text),
                   repeat('x', 600 + COALESCE(length(:user::jsonb::text), 0) % 2), :now
            FROM generate_series(1, 3)
        ), u AS (
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

/// What the rows stand for.
#[derive(Debug)]
pub enum Imitation {
    /// A new user with its identity: the values that would be written.
    NewUser(Value),
    /// A token in both of its tables with the audit row.
    Token,
    /// The flow state of a PKCE request.
    Flow,
}

/// Inserts rows, and deletes a mail that was written in the same transaction.
pub async fn write(db: &mut Connection, imitation: Imitation, mail: Option<Uuid>, now: Time) -> Result<()> {
    let bound = match imitation {
        Imitation::NewUser(user) => bind!(WRITE_USER, user: Some(user), mail_id: mail, now),
        Imitation::Token => bind!(WRITE_TOKEN, user: None::<Value>, mail_id: mail, now),
        Imitation::Flow => bind!(WRITE_FLOW, user: None::<Value>, mail_id: mail, now),
    };
    db.execute(bound).await?;
    Ok(())
}

/// Inserts the rows of a new user, and real audit rows.
pub async fn write_with_audit(db: &mut Connection, user: Value, audit: Vec<AuditRow>, now: Time) -> Result<()> {
    let audit = AuditArrays::from_rows(audit);
    db.execute(bind!(WRITE_USER_WITH_AUDIT, user: Some(user), mail_id: None::<Uuid>, now, ..audit)).await?;
    Ok(())
}

/// A password to remove, unless it has changed meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct DroppedPassword<'a> {
    /// The user that has it.
    pub user_id: Uuid,
    /// Its hash.
    pub hash: &'a str,
}

/// Inserts the rows of a new user or removes the password of an existing one, and inserts audit rows.
pub async fn write_with_dropped_password(
    db: &mut Connection,
    user: Value,
    dropped: DroppedPassword<'_>,
    audit: Vec<AuditRow>,
    now: Time,
) -> Result<()> {
    let audit = AuditArrays::from_rows(audit);
    let DroppedPassword { user_id, hash } = dropped;
    let bound = bind!(
        DROP_PASSWORD,
        user: Some(user),
        mail_id: None::<Uuid>,
        user_id,
        old_password: hash,
        now,
        ..audit
    );
    db.execute(bound).await?;
    Ok(())
}
