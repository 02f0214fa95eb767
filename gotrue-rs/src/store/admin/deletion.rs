//! Hard and soft deletion of users.

use foundation::time::Time;
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

use crate::store::audit::{AuditArrays, AuditRow};

statements! {
    #[proves(Audit)]
    DELETE = "admin.delete": "
        WITH gone AS (
            DELETE FROM users WHERE id = :user_id RETURNING id
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)
        WHERE EXISTS (SELECT FROM gone)";

    /// A user that is already soft-deleted stays unchanged. Identities keep `updated_at`.
    ///
    /// 43 characters replace each personal value: a digest of it with the id, in base64url. They do not reveal it and
    /// are unique for each user.
    #[proves(Audit, SessionsEnded)]
    SOFT_DELETE = "admin.soft_delete": "
        WITH u AS (
            UPDATE users
            SET email = translate(
                    rtrim(encode(sha256(convert_to(id::text || COALESCE(email, ''), 'UTF8')), 'base64'), '='),
                    '+/', '-_'),
                phone = left(translate(
                    rtrim(encode(sha256(convert_to(id::text || COALESCE(phone, ''), 'UTF8')), 'base64'), '='),
                    '+/', '-_'), 15),
                email_change = translate(
                    rtrim(encode(sha256(convert_to(id::text || COALESCE(email_change, ''), 'UTF8')), 'base64'), '='),
                    '+/', '-_'),
                phone_change = left(translate(
                    rtrim(encode(sha256(convert_to(id::text || COALESCE(phone_change, ''), 'UTF8')), 'base64'), '='),
                    '+/', '-_'), 15),
                encrypted_password = NULL,
                confirmation_token = '',
                recovery_token = '',
                email_change_token_current = '',
                email_change_token_new = '',
                phone_change_token = '',
                raw_app_meta_data = '{}',
                raw_user_meta_data = '{}',
                deleted_at = :now,
                updated_at = :now
            WHERE id = :user_id
              AND deleted_at IS NULL
            RETURNING id
        ), i AS (
            UPDATE identities
            SET provider_id = translate(
                    rtrim(encode(sha256(convert_to(user_id::text || provider || ':' || provider_id, 'UTF8')),
                                 'base64'), '='),
                    '+/', '-_'),
                identity_data = '{}'
            WHERE user_id = (SELECT id FROM u)
        ), s AS (
            DELETE FROM sessions WHERE user_id = (SELECT id FROM u)
        ), o AS (
            DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
        ), f AS (
            DELETE FROM mfa_factors WHERE user_id = (SELECT id FROM u)
        ), w AS (
            DELETE FROM webauthn_credentials WHERE user_id = (SELECT id FROM u)
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";
}

/// Deletes a user with all dependent rows. Of two concurrent deletions one is logged.
pub async fn delete(db: &mut Connection, user_id: Uuid, audit: Vec<AuditRow>) -> Result<()> {
    let audit = AuditArrays::from_rows(audit);
    db.note(FactCondition::Now, || Fact::SessionsEnded(EndedSessions::of_user(user_id)));
    db.execute(bind!(DELETE, user_id, ..audit)).await?;
    Ok(())
}

/// Removes all personal data and all credentials of a user.
///
/// The row stays, so that references to it stay valid.
pub async fn soft_delete(db: &mut Connection, user_id: Uuid, now: Time, audit: Vec<AuditRow>) -> Result<()> {
    let audit = AuditArrays::from_rows(audit);
    let ended = || Fact::SessionsEnded(EndedSessions::of_user(user_id));
    db.note(FactCondition::Statement, ended);
    db.execute(bind!(SOFT_DELETE, user_id, now, ..audit)).await?;
    Ok(())
}
