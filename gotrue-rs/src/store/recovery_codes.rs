//! `auth.mfa_recovery_code_sets` and `auth.mfa_recovery_codes`: a user's recovery codes and the lock of their verification.
//!
//! The tables exist where recovery codes were enabled once; statements run only for users who have codes, or to
//! generate some.

use foundation::time::Time;
use gotrue_rules::domain::mfa::recovery_codes::VerificationLock;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};
use super::factors::{FactorInsertion, FactorLimits, NAME_UNIQUE, lock_owner};

statements! {
    #[repeatable]
    COUNT = "recovery_codes.count":
        "SELECT s.mfa_factor_id,
                (SELECT count(*) FROM mfa_recovery_codes c WHERE c.mfa_recovery_code_set_id = s.id) AS total,
                (SELECT count(*) FROM mfa_recovery_codes c
                 WHERE c.mfa_recovery_code_set_id = s.id AND c.consumed_at IS NULL) AS remaining
         FROM mfa_recovery_code_sets s
         WHERE s.user_id = :user_id";

    #[repeatable]
    UNUSED = "recovery_codes.list_unused":
        "SELECT s.mfa_factor_id, s.failed_verification_count, s.verification_locked_until, c.id, c.code_hash
         FROM mfa_recovery_code_sets s
         LEFT JOIN mfa_recovery_codes c ON c.mfa_recovery_code_set_id = s.id AND c.consumed_at IS NULL
         WHERE s.user_id = :user_id
         ORDER BY c.created_at, c.id
         LIMIT 64";

    #[proves(Audit)]
    INSERT = "recovery_codes.insert": "
        WITH f AS (
            INSERT INTO mfa_factors (id, user_id, friendly_name, factor_type, status, secret, created_at, updated_at)
            SELECT :factor_id, :user_id, :friendly_name, 'recovery_code', 'verified', '', :now, :now
            FROM (SELECT count(*) AS enrolled,
                         count(*) FILTER (WHERE status = 'verified') AS verified,
                         count(*) FILTER (WHERE status = 'verified' AND factor_type::text = ANY(:usable)) AS usable,
                         count(*) FILTER (WHERE factor_type = 'recovery_code') AS codes
                  FROM mfa_factors
                  WHERE user_id = :user_id) AS present
            WHERE present.enrolled < :max_enrolled
              AND present.verified < :max_verified
              AND present.usable > 0
              AND present.codes = 0
            RETURNING id
        ), s AS (
            INSERT INTO mfa_recovery_code_sets (id, user_id, mfa_factor_id, created_at, updated_at)
            SELECT :set_id, :user_id, f.id, :now, :now FROM f
            RETURNING id
        ), c AS (
            INSERT INTO mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash, created_at)
            SELECT code.id, s.id, code.hash, :now
            FROM s CROSS JOIN unnest(:code_ids::uuid[], :hashes::text[]) AS code (id, hash)
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM f)
        )
        SELECT f.id FROM f";

    LOCK = "recovery_codes.lock":
        "SELECT failed_verification_count, verification_locked_until
         FROM mfa_recovery_code_sets
         WHERE user_id = :user_id
         FOR UPDATE";

    #[proves(Audit)]
    REPLACE = "recovery_codes.replace": "
        WITH s AS (
            UPDATE mfa_recovery_code_sets
            SET failed_verification_count = 0, verification_locked_until = NULL, updated_at = :now
            WHERE user_id = :user_id
            RETURNING id, mfa_factor_id
        ), d AS (
            DELETE FROM mfa_recovery_codes WHERE mfa_recovery_code_set_id IN (SELECT s.id FROM s)
        ), c AS (
            INSERT INTO mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash, created_at)
            SELECT code.id, s.id, code.hash, :now
            FROM s CROSS JOIN unnest(:code_ids::uuid[], :hashes::text[]) AS code (id, hash)
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM s)
        )
        SELECT f.id, COALESCE(f.friendly_name, '') FROM mfa_factors f JOIN s ON s.mfa_factor_id = f.id";

    /// The count is that after the code was used.
    CONSUME = "recovery_codes.consume":
        "WITH c AS (
             UPDATE mfa_recovery_codes SET consumed_at = :now
             WHERE id = :code_id
               AND consumed_at IS NULL
               AND mfa_recovery_code_set_id IN (SELECT id FROM mfa_recovery_code_sets WHERE user_id = :user_id)
             RETURNING mfa_recovery_code_set_id AS set_id
         ), s AS (
             UPDATE mfa_recovery_code_sets
             SET failed_verification_count = 0, verification_locked_until = NULL, updated_at = :now
             WHERE id IN (SELECT c.set_id FROM c)
         )
         SELECT count(*) FILTER (WHERE r.consumed_at IS NULL AND r.id <> :code_id)
         FROM c
         JOIN mfa_recovery_codes r ON r.mfa_recovery_code_set_id = c.set_id
         GROUP BY c.set_id";

    SET_LOCK = "recovery_codes.set_lock":
        "UPDATE mfa_recovery_code_sets
         SET failed_verification_count = :failures, verification_locked_until = :locked_until, updated_at = :now
         WHERE user_id = :user_id";
}

/// The unique constraint on the user of a set of codes.
const USER_UNIQUE: &str = "mfa_recovery_code_sets_user_id_key";

/// The number of a user's codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryCodeCount {
    pub factor_id: Uuid,
    /// All codes.
    pub total: i64,
    /// Those that were not used.
    pub remaining: i64,
}

/// Counts a user's codes; `None` if the user has none.
pub async fn count(db: &mut Connection, user_id: Uuid) -> Result<Option<RecoveryCodeCount>> {
    let row: Option<(Uuid, i64, i64)> = db.fetch_optional(bind!(COUNT, user_id)).await?;
    Ok(row.map(|(factor_id, total, remaining)| RecoveryCodeCount { factor_id, total, remaining }))
}

/// A user's unused codes, and the lock of their verification.
#[derive(Debug)]
pub struct UnusedCodes {
    pub factor_id: Uuid,
    pub lock: VerificationLock,
    /// Ids and hashes.
    pub codes: Vec<(Uuid, String)>,
}

/// Lists a user's unused codes; `None` if the user has no codes at all.
pub async fn list_unused(db: &mut Connection, user_id: Uuid) -> Result<Option<UnusedCodes>> {
    type Row = (Uuid, i32, Option<Time>, Option<Uuid>, Option<String>);
    let rows: Vec<Row> = db.fetch_all(bind!(UNUSED, user_id)).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let (factor_id, lock) = (first.0, verification_lock(first.1, first.2));
    let codes = rows.into_iter().filter_map(|(_, _, _, id, hash)| Some((id?, hash?))).collect();
    Ok(Some(UnusedCodes { factor_id, lock, codes }))
}

fn verification_lock(failures: i32, locked_until: Option<Time>) -> VerificationLock {
    VerificationLock { failures: u32::try_from(failures).unwrap_or_default(), locked_until }
}

/// Hashed codes with the ids of their rows.
#[derive(Debug, Default)]
pub struct HashedCodes {
    /// `id` of each.
    pub ids: Vec<Uuid>,
    /// `code_hash` of each.
    pub hashes: Vec<String>,
}

/// Codes to generate for a user.
#[derive(Debug)]
pub struct NewRecoveryCodes<'a> {
    /// The factor's `id`.
    pub factor_id: Uuid,
    /// The set's `id`.
    pub set_id: Uuid,
    pub user_id: Uuid,
    /// `friendly_name` of the factor.
    pub friendly_name: &'a str,
    pub codes: HashedCodes,
    /// The types of other factors that the user can use, one of which must be verified.
    pub usable: Vec<&'static str>,
    /// The time of the request.
    pub now: Time,
}

/// Inserts the factor and its codes within the limits, with the audit rows.
///
/// Requires a transaction: the user is locked before the factors are counted. `LimitReached` also stands for codes that
/// the user has already, and for the lack of another usable factor.
pub async fn insert(
    db: &mut Connection,
    new: NewRecoveryCodes<'_>,
    limits: FactorLimits,
    audit: Vec<AuditRow>,
) -> Result<FactorInsertion> {
    lock_owner(db, new.user_id).await?;
    let most = |limit| i64::try_from(limit).unwrap_or(i64::MAX);
    let audit = AuditArrays::from_rows(audit);
    let usable: Vec<String> = new.usable.iter().map(ToString::to_string).collect();
    let bound = bind!(
        INSERT,
        factor_id: new.factor_id,
        set_id: new.set_id,
        user_id: new.user_id,
        friendly_name: new.friendly_name,
        code_ids: new.codes.ids,
        hashes: new.codes.hashes,
        usable,
        now: new.now,
        max_enrolled: most(limits.enrolled),
        max_verified: most(limits.verified.unwrap_or(0)),
        ..audit,
    );
    let inserted: Result<Option<(Uuid,)>> = db.fetch_optional(bound).await;
    match inserted {
        Ok(Some(_)) => Ok(FactorInsertion::Written),
        Ok(None) => Ok(FactorInsertion::LimitReached),
        Err(error) => match error.constraint() {
            Some(NAME_UNIQUE) => Ok(FactorInsertion::NameTaken),
            // Another server stored codes without the lock of the user.
            Some(USER_UNIQUE) => Ok(FactorInsertion::LimitReached),
            _ => Err(error),
        },
    }
}

/// Locks a user's codes until the transaction ends, and returns the lock of their verification.
///
/// `None` if the user has no codes. Where the user is locked, too, it is locked before.
pub async fn lock(db: &mut Connection, user_id: Uuid) -> Result<Option<VerificationLock>> {
    let row: Option<(i32, Option<Time>)> = db.fetch_optional(bind!(LOCK, user_id)).await?;
    Ok(row.map(|(failures, locked_until)| verification_lock(failures, locked_until)))
}

/// Replaces all codes of a user and ends the lock; returns id and name of the factor, `None` if there is none.
///
/// The codes must be locked ([`lock`]), or those of a concurrent request stay.
pub async fn replace(
    db: &mut Connection,
    user_id: Uuid,
    codes: HashedCodes,
    now: Time,
    audit: Vec<AuditRow>,
) -> Result<Option<(Uuid, String)>> {
    let audit = AuditArrays::from_rows(audit);
    db.fetch_optional(bind!(REPLACE, user_id, code_ids: codes.ids, hashes: codes.hashes, now, ..audit)).await
}

/// Marks a code as used and resets the count of wrong ones; returns the number of unused codes left.
///
/// `None` if the code was used or replaced meanwhile. The codes must be locked ([`lock`]).
pub async fn consume(db: &mut Connection, user_id: Uuid, code_id: Uuid, now: Time) -> Result<Option<i64>> {
    let row: Option<(i64,)> = db.fetch_optional(bind!(CONSUME, user_id, code_id, now)).await?;
    Ok(row.map(|(remaining,)| remaining))
}

/// Stores the lock of verification. The codes must be locked ([`lock`]).
pub async fn set_lock(db: &mut Connection, user_id: Uuid, lock: VerificationLock, now: Time) -> Result<()> {
    let failures = i32::try_from(lock.failures).unwrap_or(i32::MAX);
    db.execute(bind!(SET_LOCK, user_id, failures, locked_until: lock.locked_until, now)).await.map(|_| ())
}
