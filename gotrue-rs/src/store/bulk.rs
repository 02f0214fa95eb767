//! Bulk import and export of users with their dependent rows.
//!
//! Rows are JSON objects keyed by column name, so that no column is lost between two databases of one schema.

use gotrue_rules::domain::bulk::{ImportTable, ImportedUser};
use serde_json::Value;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

macro_rules! user_columns {
    () => {
        "instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, invited_at, confirmation_token,
         confirmation_sent_at, recovery_token, recovery_sent_at, email_change_token_new, email_change,
         email_change_sent_at, last_sign_in_at, raw_app_meta_data, raw_user_meta_data, is_super_admin, created_at,
         updated_at, phone, phone_confirmed_at, phone_change, phone_change_token, phone_change_sent_at,
         email_change_token_current, email_change_confirm_status, banned_until, reauthentication_token,
         reauthentication_sent_at, is_sso_user, deleted_at, is_anonymous"
    };
}

macro_rules! identity_columns {
    () => {
        "id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at, updated_at"
    };
}

macro_rules! factor_columns {
    () => {
        "id, user_id, friendly_name, factor_type, status, secret, phone, last_challenged_at, web_authn_credential,
         web_authn_aaguid, last_webauthn_challenge_data, created_at, updated_at"
    };
}

macro_rules! insert_passkeys {
    ($rows:literal) => {
        concat!(
            "INSERT INTO webauthn_credentials (id, user_id, credential_id, public_key, attestation_type, aaguid,
                                               sign_count, transports, backup_eligible, backed_up, friendly_name,
                                               created_at, updated_at, last_used_at)
             SELECT id, user_id, credential_id, public_key, COALESCE(attestation_type, ''), aaguid,
                    COALESCE(sign_count, 0), COALESCE(transports, '[]'), COALESCE(backup_eligible, false),
                    COALESCE(backed_up, false), COALESCE(friendly_name, ''), created_at, updated_at, last_used_at
             FROM jsonb_populate_recordset(NULL::webauthn_credentials, $",
            $rows,
            ")"
        )
    };
}

const INSERT: Statement = Statement {
    name: "bulk.insert",
    sql: concat!(
        "WITH u AS (
             INSERT INTO users (",
        user_columns!(),
        ")
             SELECT ",
        user_columns!(),
        " FROM jsonb_populate_recordset(NULL::users, $1)
             ON CONFLICT DO NOTHING
             RETURNING id
         ), i AS (
             INSERT INTO identities (",
        identity_columns!(),
        ")
             SELECT ",
        identity_columns!(),
        " FROM jsonb_populate_recordset(NULL::identities, $2) WHERE user_id IN (SELECT id FROM u)
         ), f AS (
             INSERT INTO mfa_factors (",
        factor_columns!(),
        ")
             SELECT ",
        factor_columns!(),
        " FROM jsonb_populate_recordset(NULL::mfa_factors, $3) WHERE user_id IN (SELECT id FROM u)
         ), p AS (
             ",
        insert_passkeys!(4),
        " WHERE user_id IN (SELECT id FROM u)
         )
         SELECT id FROM u"
    ),
};

/// Inserts users and returns the ids of those inserted; skips users whose id, address or number exists.
pub async fn insert(db: &mut Connection, users: &[&ImportedUser]) -> Result<Vec<Uuid>> {
    let [users, identities, factors, passkeys] = ImportTable::ALL.map(|table| {
        let rows = users.iter().flat_map(|user| user.table_rows(table)).cloned().map(Value::Object);
        Value::Array(rows.collect())
    });
    let rows: Vec<(Uuid,)> = db.fetch_all(&INSERT, args![users, identities, factors, passkeys]).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

const ATTACH_IDENTITIES: Statement = Statement {
    name: "bulk.attach_identities",
    sql: concat!(
        "INSERT INTO identities (",
        identity_columns!(),
        ") SELECT ",
        identity_columns!(),
        " FROM jsonb_populate_recordset(NULL::identities, $1) WHERE user_id IN (SELECT id FROM users)
          ON CONFLICT DO NOTHING"
    ),
};

const ATTACH_FACTORS: Statement = Statement {
    name: "bulk.attach_factors",
    sql: concat!(
        "INSERT INTO mfa_factors (",
        factor_columns!(),
        ") SELECT ",
        factor_columns!(),
        " FROM jsonb_populate_recordset(NULL::mfa_factors, $1) WHERE user_id IN (SELECT id FROM users)
          ON CONFLICT DO NOTHING"
    ),
};

const ATTACH_PASSKEYS: Statement = Statement {
    name: "bulk.attach_passkeys",
    sql: concat!(insert_passkeys!(1), " WHERE user_id IN (SELECT id FROM users) ON CONFLICT DO NOTHING"),
};

/// Inserts dependent rows of existing users and returns how many were new.
pub async fn insert_dependent_rows(db: &mut Connection, table: ImportTable, rows: Vec<Value>) -> Result<u64> {
    let statement = match table {
        ImportTable::Identities => &ATTACH_IDENTITIES,
        ImportTable::Factors => &ATTACH_FACTORS,
        ImportTable::Passkeys => &ATTACH_PASSKEYS,
        ImportTable::Users => return Ok(0),
    };
    db.execute(statement, args![Value::Array(rows)]).await
}

const TAKEN: Statement = Statement {
    name: "bulk.taken",
    sql: "SELECT id, email, phone FROM users WHERE id = ANY($1)
          UNION
          SELECT id, email, phone FROM users
          WHERE instance_id = '00000000-0000-0000-0000-000000000000' AND lower(email) = ANY($2)
          UNION
          SELECT id, email, phone FROM users WHERE phone = ANY($3)",
};

/// An existing user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingUser {
    /// The user's id.
    pub id: Uuid,
    /// The address.
    pub email: Option<String>,
    /// The number.
    pub phone: Option<String>,
}

/// Returns the users that have one of these ids, addresses or numbers.
pub async fn find_existing(
    db: &mut Connection,
    ids: &[Uuid],
    emails: &[String],
    phones: &[String],
) -> Result<Vec<ExistingUser>> {
    let rows: Vec<(Uuid, Option<String>, Option<String>)> = db.fetch_all(&TAKEN, args![ids, emails, phones]).await?;
    Ok(rows.into_iter().map(|(id, email, phone)| ExistingUser { id, email, phone }).collect())
}

const PAGE: Statement = Statement {
    name: "bulk.page",
    sql: "SELECT to_jsonb(u) - ARRAY['instance_id', 'confirmed_at', 'confirmation_token', 'recovery_token',
                                     'email_change_token_new', 'email_change', 'email_change_token_current',
                                     'email_change_confirm_status', 'phone_change', 'phone_change_token',
                                     'reauthentication_token']
                 || jsonb_build_object(
                     'identities', COALESCE((SELECT jsonb_agg(to_jsonb(i) - ARRAY['user_id', 'email'] ORDER BY i.created_at, i.id)
                                             FROM identities i WHERE i.user_id = u.id), '[]'),
                     'factors', COALESCE((SELECT jsonb_agg(to_jsonb(f) - 'user_id' ORDER BY f.created_at, f.id)
                                          FROM mfa_factors f WHERE f.user_id = u.id), '[]'),
                     'passkeys', COALESCE((SELECT jsonb_agg(to_jsonb(p) - 'user_id' ORDER BY p.created_at, p.id)
                                           FROM webauthn_credentials p WHERE p.user_id = u.id), '[]'))
          FROM users u
          WHERE u.id > $1
          ORDER BY u.id
          LIMIT $2",
};

/// Returns the next users in the order of their ids, each as an export line; empty at the end.
pub async fn list_page(db: &mut Connection, after: Uuid, most: i64) -> Result<Vec<Value>> {
    let rows: Vec<(Value,)> = db.fetch_all(&PAGE, args![after, most]).await?;
    Ok(rows.into_iter().map(|(line,)| line).collect())
}

const COUNT: Statement = Statement { name: "bulk.count", sql: "SELECT count(*) FROM users" };

/// Returns the number of users.
pub async fn count(db: &mut Connection) -> Result<i64> {
    db.fetch_one::<(i64,)>(&COUNT, args![]).await.map(|(count,)| count)
}

const SNAPSHOT: Statement =
    Statement { name: "bulk.snapshot", sql: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY" };

/// Fixes the snapshot of an open transaction until its end. Must be its first statement.
pub async fn fix_snapshot(db: &mut Connection) -> Result<()> {
    db.execute(&SNAPSHOT, args![]).await.map(|_| ())
}

const SAVE: Statement = Statement { name: "bulk.save", sql: "SAVEPOINT bulk" };
const KEEP: Statement = Statement { name: "bulk.keep", sql: "RELEASE SAVEPOINT bulk" };
const UNDO: Statement = Statement { name: "bulk.undo", sql: "ROLLBACK TO SAVEPOINT bulk" };

/// Inserts like [`insert`] within a savepoint, so that the open transaction survives a failure.
pub async fn try_insert(db: &mut Connection, users: &[&ImportedUser]) -> Result<Vec<Uuid>> {
    db.execute(&SAVE, args![]).await?;
    let outcome = insert(db, users).await;
    let end = if outcome.is_ok() { &KEEP } else { &UNDO };
    db.execute(end, args![]).await?;
    outcome
}

/// All statements of this file.
pub const ALL: &[&Statement] = &[
    &INSERT,
    &ATTACH_IDENTITIES,
    &ATTACH_FACTORS,
    &ATTACH_PASSKEYS,
    &TAKEN,
    &PAGE,
    &COUNT,
    &SNAPSHOT,
    &SAVE,
    &KEEP,
    &UNDO,
];
