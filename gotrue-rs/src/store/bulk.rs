//! Bulk import and export of users with their dependent rows.
//!
//! Rows are JSON objects keyed by column name, so that no column is lost between two databases of one schema.

use chrono::{DateTime, Utc};
use gotrue_rules::domain::bulk::{ImportTable, ImportedUser};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use serde_json::Value;
use uuid::Uuid;

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
             INSERT INTO webauthn_credentials (id, user_id, credential_id, public_key, attestation_type, aaguid,
                                               sign_count, transports, backup_eligible, backed_up, friendly_name,
                                               created_at, updated_at, last_used_at)
             SELECT id, user_id, credential_id, public_key, COALESCE(attestation_type, ''), aaguid,
                    COALESCE(sign_count, 0), COALESCE(transports, '[]'), COALESCE(backup_eligible, false),
                    COALESCE(backed_up, false), COALESCE(friendly_name, ''), created_at, updated_at, last_used_at
             FROM jsonb_populate_recordset(NULL::webauthn_credentials, :passkeys)
             WHERE user_id IN (SELECT id FROM u)
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
        "INSERT INTO webauthn_credentials (id, user_id, credential_id, public_key, attestation_type, aaguid,
                                           sign_count, transports, backup_eligible, backed_up, friendly_name,
                                           created_at, updated_at, last_used_at)
         SELECT id, user_id, credential_id, public_key, COALESCE(attestation_type, ''), aaguid,
                COALESCE(sign_count, 0), COALESCE(transports, '[]'), COALESCE(backup_eligible, false),
                COALESCE(backed_up, false), COALESCE(friendly_name, ''), created_at, updated_at, last_used_at
         FROM jsonb_populate_recordset(NULL::webauthn_credentials, :passkeys)
         WHERE user_id IN (SELECT id FROM users)
         ON CONFLICT DO NOTHING";

    ATTACH_SSO_PROVIDERS = "bulk.attach_sso_providers":
        "INSERT INTO sso_providers (id, resource_id, created_at, updated_at, disabled)
         SELECT id, resource_id, created_at, updated_at, disabled
         FROM jsonb_populate_recordset(NULL::sso_providers, :rows)
         ON CONFLICT DO NOTHING";

    ATTACH_SAML_PROVIDERS = "bulk.attach_saml_providers":
        "INSERT INTO saml_providers (id, sso_provider_id, entity_id, metadata_xml, metadata_url, attribute_mapping,
                                     created_at, updated_at, name_id_format)
         SELECT id, sso_provider_id, entity_id, metadata_xml, metadata_url, attribute_mapping, created_at, updated_at,
                name_id_format
         FROM jsonb_populate_recordset(NULL::saml_providers, :rows)
         WHERE sso_provider_id IN (SELECT id FROM sso_providers)
         ON CONFLICT DO NOTHING";

    ATTACH_SSO_DOMAINS = "bulk.attach_sso_domains":
        "INSERT INTO sso_domains (id, sso_provider_id, domain, created_at, updated_at)
         SELECT id, sso_provider_id, domain, created_at, updated_at
         FROM jsonb_populate_recordset(NULL::sso_domains, :rows)
         WHERE sso_provider_id IN (SELECT id FROM sso_providers)
         ON CONFLICT DO NOTHING";

    ATTACH_OAUTH_CLIENTS = "bulk.attach_oauth_clients":
        "INSERT INTO oauth_clients (id, client_secret_hash, registration_type, redirect_uris, grant_types, client_name,
                                    client_uri, logo_uri, created_at, updated_at, deleted_at, client_type,
                                    token_endpoint_auth_method)
         SELECT id, client_secret_hash, registration_type, redirect_uris, grant_types, client_name, client_uri, logo_uri,
                COALESCE(created_at, :now::timestamptz), COALESCE(updated_at, :now::timestamptz), deleted_at,
                COALESCE(client_type, 'confidential'), COALESCE(token_endpoint_auth_method, 'client_secret_basic')
         FROM jsonb_populate_recordset(NULL::oauth_clients, :rows)
         ON CONFLICT DO NOTHING";

    ATTACH_OAUTH_CONSENTS = "bulk.attach_oauth_consents":
        "INSERT INTO oauth_consents (id, user_id, client_id, scopes, granted_at, revoked_at)
         SELECT id, user_id, client_id, scopes, COALESCE(granted_at, :now::timestamptz), revoked_at
         FROM jsonb_populate_recordset(NULL::oauth_consents, :rows)
         WHERE user_id IN (SELECT id FROM users) AND client_id IN (SELECT id FROM oauth_clients)
         ON CONFLICT DO NOTHING";

    ATTACH_RECOVERY_CODE_SETS = "bulk.attach_recovery_code_sets":
        "INSERT INTO mfa_recovery_code_sets (id, user_id, mfa_factor_id, failed_verification_count,
                                             verification_locked_until, created_at, updated_at)
         SELECT id, user_id, mfa_factor_id, COALESCE(failed_verification_count, 0), verification_locked_until,
                COALESCE(created_at, :now::timestamptz), COALESCE(updated_at, :now::timestamptz)
         FROM jsonb_populate_recordset(NULL::mfa_recovery_code_sets, :rows) AS given
         WHERE EXISTS (SELECT FROM mfa_factors f WHERE f.id = given.mfa_factor_id AND f.user_id = given.user_id)
         ON CONFLICT DO NOTHING";

    ATTACH_RECOVERY_CODES = "bulk.attach_recovery_codes":
        "INSERT INTO mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash, consumed_at, created_at)
         SELECT id, mfa_recovery_code_set_id, code_hash, consumed_at, COALESCE(created_at, :now::timestamptz)
         FROM jsonb_populate_recordset(NULL::mfa_recovery_codes, :rows)
         WHERE mfa_recovery_code_set_id IN (SELECT id FROM mfa_recovery_code_sets)
         ON CONFLICT DO NOTHING";

    /// The accounts that a file may add to: of the same address and number, confirmed by the file, too, if they are here,
    /// and without a session. What a user or the server has removed since must not come back.
    #[repeatable]
    COMPLETABLE = "bulk.find_completable":
        "SELECT u.id
         FROM users u
         JOIN jsonb_populate_recordset(NULL::users, :users) AS g ON g.id = u.id
         WHERE u.deleted_at IS NULL
           AND lower(u.email) IS NOT DISTINCT FROM lower(g.email)
           AND NULLIF(u.phone, '') IS NOT DISTINCT FROM NULLIF(g.phone, '')
           AND (u.email_confirmed_at IS NULL OR g.email_confirmed_at IS NOT NULL)
           AND (u.phone_confirmed_at IS NULL OR g.phone_confirmed_at IS NOT NULL)
           AND NOT EXISTS (SELECT FROM sessions s WHERE s.user_id = u.id)";

    /// Writes the providers of accounts to their metadata after identities were added.
    WRITE_PROVIDERS = "bulk.write_providers":
        "UPDATE users u
         SET raw_app_meta_data = jsonb_set(
             COALESCE(u.raw_app_meta_data, '{}'), '{providers}',
             COALESCE(u.raw_app_meta_data -> 'providers', '[]') || (
                 SELECT COALESCE(jsonb_agg(DISTINCT i.provider), '[]')
                 FROM identities i
                 WHERE i.user_id = u.id
                   AND NOT jsonb_exists(COALESCE(u.raw_app_meta_data -> 'providers', '[]'), i.provider)))
         WHERE u.id = ANY(:ids::uuid[])
           AND EXISTS (SELECT
                       FROM identities i
                       WHERE i.user_id = u.id
                         AND NOT jsonb_exists(COALESCE(u.raw_app_meta_data -> 'providers', '[]'), i.provider))";

    /// Adds to accounts what a file has and they lack: the password, a ban and members of the metadata.
    COMPLETE = "bulk.complete":
        "UPDATE users u
         SET encrypted_password = CASE WHEN COALESCE(u.encrypted_password, '') = '' THEN g.encrypted_password
                                       ELSE u.encrypted_password END,
             raw_user_meta_data = g.raw_user_meta_data || COALESCE(u.raw_user_meta_data, '{}'),
             banned_until = COALESCE(u.banned_until, g.banned_until),
             raw_app_meta_data = g.raw_app_meta_data || COALESCE(u.raw_app_meta_data, '{}')
         FROM jsonb_populate_recordset(NULL::users, :users) AS g
         WHERE u.id = g.id
           AND u.deleted_at IS NULL
           AND (COALESCE(u.encrypted_password, '') = '' AND g.encrypted_password <> ''
                OR COALESCE(u.banned_until, g.banned_until) IS DISTINCT FROM u.banned_until
                OR NOT jsonb_exists_all(COALESCE(u.raw_user_meta_data, '{}'),
                                        ARRAY(SELECT jsonb_object_keys(g.raw_user_meta_data)))
                OR NOT jsonb_exists_all(COALESCE(u.raw_app_meta_data, '{}'),
                                        ARRAY(SELECT jsonb_object_keys(g.raw_app_meta_data))))";

    #[repeatable]
    RECOVERY_CODES = "bulk.list_recovery_codes":
        "SELECT s.user_id,
                to_jsonb(s) - ARRAY['user_id', 'mfa_factor_id']
                || jsonb_build_object(
                    'codes', COALESCE((SELECT jsonb_agg(to_jsonb(c) - 'mfa_recovery_code_set_id'
                                                        ORDER BY c.created_at, c.id)
                                       FROM mfa_recovery_codes c WHERE c.mfa_recovery_code_set_id = s.id), '[]'))
         FROM mfa_recovery_code_sets s
         WHERE s.user_id = ANY(:user_ids)";

    #[repeatable]
    HAS_RECOVERY_CODES = "bulk.has_recovery_codes": "SELECT to_regclass('mfa_recovery_codes') IS NOT NULL";

    TABLE_COLUMNS = "bulk.table_columns":
        "SELECT c.relname::text, a.attname::text
         FROM pg_attribute a
         JOIN pg_class c ON c.oid = a.attrelid
         WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'users'::regclass)
           AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
         ORDER BY c.relname, a.attnum";

    #[repeatable]
    TAKEN = "bulk.find_taken":
        "SELECT id, email, phone FROM users WHERE id = ANY(:ids)
         UNION
         SELECT id, email, phone FROM users
         WHERE instance_id = '00000000-0000-0000-0000-000000000000' AND lower(email) = ANY(:emails)
         UNION
         SELECT id, email, phone FROM users WHERE phone = ANY(:phones)";

    #[repeatable]
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

    #[repeatable]
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
    let [rows, identities, factors, passkeys] = ImportTable::OF_LINES.map(|table| {
        let rows = users.iter().flat_map(|user| user.table_rows(table)).cloned().map(Value::Object);
        Value::Array(rows.collect())
    });
    let inserted: Vec<(Uuid,)> = db.fetch_all(bind!(INSERT, users: rows, identities, factors, passkeys)).await?;
    let inserted: Vec<Uuid> = inserted.into_iter().map(|(id,)| id).collect();
    insert_recovery_codes(db, users, &inserted).await?;
    Ok(inserted)
}

/// Inserts the recovery codes of those users that were inserted.
///
/// A database may lack the tables, so the statements run only if there are rows.
async fn insert_recovery_codes(db: &mut Connection, users: &[&ImportedUser], inserted: &[Uuid]) -> Result<()> {
    let has_codes = |user: &&&ImportedUser| !user.recovery_code_sets.is_empty() && inserted.contains(&user.id());
    let owners: Vec<_> = users.iter().filter(has_codes).collect();
    if owners.is_empty() {
        return Ok(());
    }
    for table in ImportTable::OF_RECOVERY_CODES {
        let rows = owners.iter().flat_map(|user| user.table_rows(table)).cloned().map(Value::Object);
        // The rows of lines have times of their own.
        insert_dependent_rows(db, table, rows.collect(), DateTime::UNIX_EPOCH).await?;
    }
    Ok(())
}

/// Returns the recovery codes of these users as the member `recovery_codes` of their lines.
pub async fn list_recovery_codes(db: &mut Connection, user_ids: &[Uuid]) -> Result<Vec<(Uuid, Value)>> {
    db.fetch_all(bind!(RECOVERY_CODES, user_ids)).await
}

/// Inserts dependent rows of existing users and returns how many were new.
///
/// Runs within a savepoint, so that the open transaction survives a failure. Unless `keeps_some`, the rows are inserted only
/// if all are new.
pub async fn try_insert_dependent_rows(
    db: &mut Connection,
    table: ImportTable,
    rows: Vec<Value>,
    now: DateTime<Utc>,
    keeps_some: bool,
) -> Result<u64> {
    let wanted = rows.len() as u64;
    db.execute(bind!(SAVE)).await?;
    let outcome = insert_dependent_rows(db, table, rows, now).await;
    let is_kept = outcome.as_ref().is_ok_and(|count| keeps_some || *count == wanted);
    db.execute(if is_kept { bind!(KEEP) } else { bind!(UNDO) }).await?;
    outcome
}

async fn insert_dependent_rows(
    db: &mut Connection,
    table: ImportTable,
    rows: Vec<Value>,
    now: DateTime<Utc>,
) -> Result<u64> {
    let rows = Value::Array(rows);
    let bound = match table {
        ImportTable::Users => return Ok(0),
        ImportTable::Identities => bind!(ATTACH_IDENTITIES, identities: rows),
        ImportTable::Factors => bind!(ATTACH_FACTORS, factors: rows),
        ImportTable::Passkeys => bind!(ATTACH_PASSKEYS, passkeys: rows),
        ImportTable::SsoProviders => bind!(ATTACH_SSO_PROVIDERS, rows),
        ImportTable::OauthClients => bind!(ATTACH_OAUTH_CLIENTS, rows, now),
        ImportTable::SamlProviders => bind!(ATTACH_SAML_PROVIDERS, rows),
        ImportTable::SsoDomains => bind!(ATTACH_SSO_DOMAINS, rows),
        ImportTable::OauthConsents => bind!(ATTACH_OAUTH_CONSENTS, rows, now),
        ImportTable::RecoveryCodeSets => bind!(ATTACH_RECOVERY_CODE_SETS, rows, now),
        ImportTable::RecoveryCodes => bind!(ATTACH_RECOVERY_CODES, rows, now),
    };
    db.execute(bound).await
}

/// Adds to existing users the passwords and metadata that they lack, and returns how many were changed.
pub async fn complete(db: &mut Connection, users: &[&ImportedUser]) -> Result<u64> {
    let users = Value::Array(users.iter().map(|user| Value::Object(user.user.clone())).collect());
    db.execute(bind!(COMPLETE, users)).await
}

/// Returns which of these users, which exist, a file may add to: passwords, identities and factors.
pub async fn find_completable(db: &mut Connection, users: &[&ImportedUser]) -> Result<Vec<Uuid>> {
    let users = Value::Array(users.iter().map(|user| Value::Object(user.user.clone())).collect());
    let found: Vec<(Uuid,)> = db.fetch_all(bind!(COMPLETABLE, users)).await?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// Adds the providers of their identities to the metadata of users.
pub async fn write_providers(db: &mut Connection, ids: &[Uuid]) -> Result<()> {
    db.execute(bind!(WRITE_PROVIDERS, ids)).await.map(drop)
}

/// Whether the database has the tables of recovery codes.
pub async fn has_recovery_codes(db: &mut Connection) -> Result<bool> {
    db.fetch_one::<(bool,)>(bind!(HAS_RECOVERY_CODES)).await.map(|(has_tables,)| has_tables)
}

/// Lists the tables of the schema with their columns, in the order of the tables.
pub async fn list_table_columns(db: &mut Connection) -> Result<Vec<(String, String)>> {
    db.fetch_all(bind!(TABLE_COLUMNS)).await
}

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
