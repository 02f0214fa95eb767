//! Bulk import and export of users with their dependent rows.
//!
//! Rows are JSON objects keyed by column name, so that no column is lost between two databases of one schema.

use gotrue_rules::domain::bulk::{ImportTable, ImportedUser};
use serde_json::Value;
use uuid::Uuid;

use super::Result;
use super::binding::{bind, statements};
use super::statement::Connection;

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
    () => {
        "INSERT INTO webauthn_credentials (id, user_id, credential_id, public_key, attestation_type, aaguid,
                                               sign_count, transports, backup_eligible, backed_up, friendly_name,
                                               created_at, updated_at, last_used_at)
             SELECT id, user_id, credential_id, public_key, COALESCE(attestation_type, ''), aaguid,
                    COALESCE(sign_count, 0), COALESCE(transports, '[]'), COALESCE(backup_eligible, false),
                    COALESCE(backed_up, false), COALESCE(friendly_name, ''), created_at, updated_at, last_used_at
             FROM jsonb_populate_recordset(NULL::webauthn_credentials, :passkeys)"
    };
}

statements! {
    INSERT = "bulk.insert": concat!(
        "WITH u AS (
             INSERT INTO users (",
        user_columns!(),
        ")
             SELECT ",
        user_columns!(),
        " FROM jsonb_populate_recordset(NULL::users, :users)
             ON CONFLICT DO NOTHING
             RETURNING id
         ), i AS (
             INSERT INTO identities (",
        identity_columns!(),
        ")
             SELECT ",
        identity_columns!(),
        " FROM jsonb_populate_recordset(NULL::identities, :identities) WHERE user_id IN (SELECT id FROM u)
         ), f AS (
             INSERT INTO mfa_factors (",
        factor_columns!(),
        ")
             SELECT ",
        factor_columns!(),
        " FROM jsonb_populate_recordset(NULL::mfa_factors, :factors) WHERE user_id IN (SELECT id FROM u)
         ), p AS (
             ",
        insert_passkeys!(),
        " WHERE user_id IN (SELECT id FROM u)
         )
         SELECT id FROM u"
    );

    ATTACH_IDENTITIES = "bulk.attach_identities": concat!(
        "INSERT INTO identities (",
        identity_columns!(),
        ") SELECT ",
        identity_columns!(),
        " FROM jsonb_populate_recordset(NULL::identities, :identities) WHERE user_id IN (SELECT id FROM users)
          ON CONFLICT DO NOTHING"
    );

    ATTACH_FACTORS = "bulk.attach_factors": concat!(
        "INSERT INTO mfa_factors (",
        factor_columns!(),
        ") SELECT ",
        factor_columns!(),
        " FROM jsonb_populate_recordset(NULL::mfa_factors, :factors) WHERE user_id IN (SELECT id FROM users)
          ON CONFLICT DO NOTHING"
    );

    ATTACH_PASSKEYS = "bulk.attach_passkeys":
        concat!(insert_passkeys!(), " WHERE user_id IN (SELECT id FROM users) ON CONFLICT DO NOTHING");

    TAKEN = "bulk.find_taken":
        "SELECT id, email, phone FROM users WHERE id = ANY(:ids)
         UNION
         SELECT id, email, phone FROM users
         WHERE instance_id = '00000000-0000-0000-0000-000000000000' AND lower(email) = ANY(:emails)
         UNION
         SELECT id, email, phone FROM users WHERE phone = ANY(:phones)";

    PAGE = "bulk.page":
        "SELECT to_jsonb(u) - ARRAY['instance_id', 'confirmed_at', 'confirmation_token', 'recovery_token',
                                    'email_change_token_new', 'email_change', 'email_change_token_current',
                                    'email_change_confirm_status', 'phone_change', 'phone_change_token',
                                    'reauthentication_token']
                || jsonb_build_object(
                    'identities', COALESCE((SELECT jsonb_agg(to_jsonb(i) - ARRAY['user_id',
                        'email'] ORDER BY i.created_at, i.id)
                                            FROM identities i WHERE i.user_id = u.id), '[]'),
                    'factors', COALESCE((SELECT jsonb_agg(to_jsonb(f) - 'user_id' ORDER BY f.created_at, f.id)
                                         FROM mfa_factors f WHERE f.user_id = u.id), '[]'),
                    'passkeys', COALESCE((SELECT jsonb_agg(to_jsonb(p) - 'user_id' ORDER BY p.created_at, p.id)
                                          FROM webauthn_credentials p WHERE p.user_id = u.id), '[]'))
         FROM users u
         WHERE u.id > :after_id
         ORDER BY u.id
         LIMIT :limit";

    COUNT = "bulk.count": "SELECT count(*) FROM users";

    SNAPSHOT = "bulk.snapshot": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";

    ROW_SECURITY = "bulk.row_security": "SET LOCAL row_security = off";

    /// Keeps the columns as they are until the end; precedes the statement that takes the snapshot.
    LOCK = "bulk.lock": "LOCK TABLE users, identities, mfa_factors, webauthn_credentials IN ACCESS SHARE MODE";

    COLUMNS = "bulk.columns":
        "SELECT t.name, row_security_active(t.id) AS is_filtered, a.attname::text, format_type(a.atttypid, NULL) AS type_name
         FROM (SELECT 'auth.users' AS name, 'users'::regclass AS id
               UNION ALL
               SELECT 'auth.identities', 'identities'::regclass
               UNION ALL
               SELECT 'auth.mfa_factors', 'mfa_factors'::regclass
               UNION ALL
               SELECT 'auth.webauthn_credentials', 'webauthn_credentials'::regclass) AS t
         JOIN pg_attribute a ON a.attrelid = t.id AND a.attnum > 0 AND NOT a.attisdropped
         ORDER BY t.name, a.attnum";

    SAVE = "bulk.savepoint": "SAVEPOINT bulk";

    KEEP = "bulk.release_savepoint": "RELEASE SAVEPOINT bulk";

    UNDO = "bulk.rollback_to_savepoint": "ROLLBACK TO SAVEPOINT bulk";
}

/// Inserts users and returns the ids of those inserted; skips users whose id, address or number exists.
pub async fn insert(db: &mut Connection, users: &[&ImportedUser]) -> Result<Vec<Uuid>> {
    let [users, identities, factors, passkeys] = ImportTable::ALL.map(|table| {
        let rows = users.iter().flat_map(|user| user.table_rows(table)).cloned().map(Value::Object);
        Value::Array(rows.collect())
    });
    let rows: Vec<(Uuid,)> = db.fetch_all(bind!(INSERT, users, identities, factors, passkeys)).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Inserts dependent rows of existing users and returns how many were new.
pub async fn insert_dependent_rows(db: &mut Connection, table: ImportTable, rows: Vec<Value>) -> Result<u64> {
    let rows = Value::Array(rows);
    let bound = match table {
        ImportTable::Identities => bind!(ATTACH_IDENTITIES, identities: rows),
        ImportTable::Factors => bind!(ATTACH_FACTORS, factors: rows),
        ImportTable::Passkeys => bind!(ATTACH_PASSKEYS, passkeys: rows),
        ImportTable::Users => return Ok(0),
    };
    db.execute(bound).await
}

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
    let rows: Vec<(Uuid, Option<String>, Option<String>)> = db.fetch_all(bind!(TAKEN, ids, emails, phones)).await?;
    Ok(rows.into_iter().map(|(id, email, phone)| ExistingUser { id, email, phone }).collect())
}

/// Returns the next users in the order of their ids, each as an export line; empty at the end.
pub async fn list_page(db: &mut Connection, after: Uuid, most: i64) -> Result<Vec<Value>> {
    let rows: Vec<(Value,)> = db.fetch_all(bind!(PAGE, after_id: after, limit: most)).await?;
    Ok(rows.into_iter().map(|(line,)| line).collect())
}

/// Returns the number of users.
pub async fn count(db: &mut Connection) -> Result<i64> {
    db.fetch_one::<(i64,)>(bind!(COUNT)).await.map(|(count,)| count)
}

/// Fixes the snapshot and the columns of a transaction until its end. Must be its first statement.
///
/// Rows that row security hides from the role are an error afterwards, in place of being left out.
pub async fn fix_snapshot(db: &mut Connection) -> Result<()> {
    db.execute(bind!(SNAPSHOT)).await?;
    db.execute(bind!(ROW_SECURITY)).await?;
    db.execute(bind!(LOCK)).await.map(|_| ())
}

/// A column of a table that an export reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedColumn {
    /// The table with its schema: `auth.users`.
    pub table: String,
    /// Whether row security applies to the role.
    pub is_filtered: bool,
    /// The name of the column.
    pub name: String,
    /// Its type, without a length.
    pub type_name: String,
}

/// Lists the columns of the tables that an export reads.
pub async fn list_exported_columns(db: &mut Connection) -> Result<Vec<ExportedColumn>> {
    let rows: Vec<(String, bool, String, String)> = db.fetch_all(bind!(COLUMNS)).await?;
    let column = |(table, is_filtered, name, type_name)| ExportedColumn { table, is_filtered, name, type_name };
    Ok(rows.into_iter().map(column).collect())
}

/// Inserts like [`insert`] within a savepoint, so that the open transaction survives a failure.
pub async fn try_insert(db: &mut Connection, users: &[&ImportedUser]) -> Result<Vec<Uuid>> {
    db.execute(bind!(SAVE)).await?;
    let outcome = insert(db, users).await;
    let end = if outcome.is_ok() { bind!(KEEP) } else { bind!(UNDO) };
    db.execute(end).await?;
    outcome
}
