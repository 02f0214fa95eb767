//! `auth.webauthn_credentials`: passkeys.

use foundation::time::Time;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::passkey::PasskeyJson;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};
use super::rows::{UserRow, account_columns};

statements! {
    #[repeatable]
    OF_ACCOUNT = "webauthn_credentials.of_account":
        "SELECT id, credential_id, friendly_name, created_at, last_used_at
         FROM webauthn_credentials
         WHERE user_id = :user_id
         ORDER BY created_at, id";

    LOCK_OWNER = "webauthn_credentials.lock_owner": "SELECT id FROM users WHERE id = :user_id FOR NO KEY UPDATE";

    #[proves(Audit)]
    INSERT = "webauthn_credentials.insert": "
        WITH p AS (
            INSERT INTO webauthn_credentials (id, user_id, credential_id, public_key, attestation_type, aaguid,
                                              sign_count, transports, backup_eligible, backed_up, friendly_name,
                                              created_at, updated_at)
            SELECT :passkey_id, :user_id, :credential_id, :public_key, :attestation_type, :aaguid, :sign_count,
                   :transports, :backup_eligible, :backed_up, :friendly_name, :now, :now
            WHERE (SELECT count(*) FROM webauthn_credentials WHERE user_id = :user_id) < :max_passkeys
            RETURNING id
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM p)
        )
        SELECT p.id FROM p";

    #[repeatable]
    BY_CREDENTIAL = "webauthn_credentials.by_credential": concat!(
        "SELECT p.id AS passkey_id, p.public_key AS passkey_public_key, p.sign_count AS passkey_sign_count,
                p.backup_eligible AS passkey_backup_eligible, p.backed_up AS passkey_backed_up, ",
        account_columns!(),
        "
         FROM webauthn_credentials p
         JOIN users u ON u.id = p.user_id
         WHERE p.credential_id = :credential_id
           AND p.user_id = :user_id"
    );

    USE = "webauthn_credentials.record_use":
        "UPDATE webauthn_credentials
         SET sign_count = greatest(sign_count, :sign_count), last_used_at = :now, updated_at = :now
         WHERE id = :passkey_id
           AND (NOT :is_exclusive OR sign_count = :expected_sign_count)";

    #[proves(Audit)]
    RENAME = "webauthn_credentials.rename": "
        WITH p AS (
            UPDATE webauthn_credentials
            SET friendly_name = :friendly_name, updated_at = :now
            WHERE id = :passkey_id
              AND user_id = :user_id
            RETURNING id, credential_id, friendly_name, created_at, last_used_at
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM p)
        )
        SELECT p.id, p.credential_id, p.friendly_name, p.created_at, p.last_used_at FROM p";

    #[proves(Audit)]
    DELETE = "webauthn_credentials.delete": "
        WITH p AS (
            DELETE FROM webauthn_credentials WHERE id = :passkey_id AND user_id = :user_id RETURNING id
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM p)
        )
        SELECT p.id FROM p";
}

/// A passkey as listed to its user.
#[derive(Debug, Clone, PartialEq)]
pub struct Passkey {
    pub id: Uuid,
    /// `credential_id`: the authenticator's identifier.
    pub credential_id: Vec<u8>,
    pub friendly_name: String,
    pub created_at: Time,
    pub last_used_at: Option<Time>,
}

impl FromRow<'_, PgRow> for Passkey {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            credential_id: row.try_get("credential_id")?,
            friendly_name: row.try_get("friendly_name")?,
            created_at: TimeColumn::read(row, "created_at")?,
            last_used_at: TimeColumn::read(row, "last_used_at")?,
        })
    }
}

impl Passkey {
    /// Converts to JSON.
    pub fn to_json(&self) -> PasskeyJson<'_> {
        PasskeyJson {
            id: self.id,
            friendly_name: &self.friendly_name,
            created_at: self.created_at,
            last_used_at: self.last_used_at,
        }
    }
}

/// Returns the user's passkeys, oldest first.
pub async fn list_by_user(db: &mut Connection, user_id: Uuid) -> Result<Vec<Passkey>> {
    db.fetch_all(bind!(OF_ACCOUNT, user_id)).await
}

/// A passkey to insert.
#[derive(Debug)]
pub struct NewPasskey<'a> {
    pub id: Uuid,
    pub user_id: Uuid,
    pub credential_id: &'a [u8],
    /// `public_key`: a COSE key as CBOR.
    pub public_key: &'a [u8],
    /// `attestation_type`: the attestation format.
    pub attestation_type: &'a str,
    pub aaguid: Uuid,
    pub sign_count: u32,
    pub transports: &'a [String],
    pub backup_eligible: bool,
    pub backed_up: bool,
    pub friendly_name: &'a str,
    /// `created_at`.
    pub now: Time,
    /// Audit rows of the registration.
    pub audit: Vec<AuditRow>,
}

/// Inserts a passkey; false if the user has `most` already.
///
/// Requires a transaction: concurrent registrations of one user are serialized, so that the limit holds.
pub async fn insert(db: &mut Connection, new: NewPasskey<'_>, most: usize) -> Result<bool> {
    let _: Option<(Uuid,)> = db.fetch_optional(bind!(LOCK_OWNER, user_id: new.user_id)).await?;
    let audit = AuditArrays::from_rows(new.audit);
    let bound = bind!(
        INSERT,
        passkey_id: new.id,
        user_id: new.user_id,
        credential_id: new.credential_id,
        public_key: new.public_key,
        attestation_type: new.attestation_type,
        aaguid: new.aaguid,
        sign_count: i64::from(new.sign_count),
        transports: Json(new.transports),
        backup_eligible: new.backup_eligible,
        backed_up: new.backed_up,
        friendly_name: new.friendly_name,
        now: new.now,
        max_passkeys: i64::try_from(most).unwrap_or(i64::MAX),
        ..audit,
    );
    let stored: Option<(Uuid,)> = db.fetch_optional(bound).await?;
    Ok(stored.is_some())
}

/// The data that verifies an assertion, and the user.
#[derive(Debug)]
pub struct OwnedPasskey {
    pub id: Uuid,
    pub public_key: Vec<u8>,
    pub sign_count: u32,
    pub backup_eligible: bool,
    pub backed_up: bool,
    pub user: User,
}

impl FromRow<'_, PgRow> for OwnedPasskey {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("passkey_id")?,
            public_key: row.try_get("passkey_public_key")?,
            sign_count: u32::try_from(row.try_get::<i64, _>("passkey_sign_count")?).unwrap_or(u32::MAX),
            backup_eligible: row.try_get("passkey_backup_eligible")?,
            backed_up: row.try_get("passkey_backed_up")?,
            user: UserRow::from_row(row)?.0,
        })
    }
}

/// Returns the passkey of that credential id with its user, if it belongs to that user.
pub async fn find_by_credential(
    db: &mut Connection,
    credential_id: &[u8],
    user_id: Uuid,
) -> Result<Option<OwnedPasskey>> {
    db.fetch_optional(bind!(BY_CREDENTIAL, credential_id, user_id)).await
}

/// A verified use of a passkey.
#[derive(Debug)]
pub struct PasskeyUse {
    pub id: Uuid,
    /// The signature counter that was verified against.
    pub expected_sign_count: u32,
    /// The new signature counter.
    pub sign_count: u32,
    /// Whether a concurrent use makes this one fail.
    pub is_exclusive: bool,
    /// `last_used_at`.
    pub now: Time,
}

/// Records the use of a passkey; false if it is gone or no longer as it was verified.
pub async fn record_use(db: &mut Connection, used: PasskeyUse) -> Result<bool> {
    let bound = bind!(
        USE,
        passkey_id: used.id,
        sign_count: i64::from(used.sign_count),
        now: used.now,
        is_exclusive: used.is_exclusive,
        expected_sign_count: i64::from(used.expected_sign_count),
    );
    Ok(db.execute(bound).await? == 1)
}

/// A passkey's id with its user.
#[derive(Debug, Clone, Copy)]
pub struct PasskeyRef {
    pub id: Uuid,
    pub user_id: Uuid,
}

/// Renames a passkey of the user; `None` if there is no such passkey.
pub async fn rename(
    db: &mut Connection,
    passkey: PasskeyRef,
    name: &str,
    now: Time,
    audit: Vec<AuditRow>,
) -> Result<Option<Passkey>> {
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(RENAME, passkey_id: passkey.id, user_id: passkey.user_id, friendly_name: name, now, ..audit);
    db.fetch_optional(bound).await
}

/// Deletes a passkey of the user; false if there is none.
pub async fn delete(db: &mut Connection, passkey: PasskeyRef, audit: Vec<AuditRow>) -> Result<bool> {
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(DELETE, passkey_id: passkey.id, user_id: passkey.user_id, ..audit);
    let gone: Option<(Uuid,)> = db.fetch_optional(bound).await?;
    Ok(gone.is_some())
}
