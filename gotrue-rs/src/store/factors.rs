//! `auth.mfa_factors`: enrolling, updating and deleting factors. Verification is in `elevation.rs`, recovery codes are in
//! `recovery_codes.rs`.

use foundation::time::Time;
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::enrollment::ReplacedFactors;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};

statements! {
    LOCK_OWNER = "factors.lock_owner": "SELECT id FROM users WHERE id = :user_id FOR NO KEY UPDATE";

    #[proves(Audit)]
    INSERT = "factors.insert": "
        WITH f AS (
            INSERT INTO mfa_factors (id, user_id, friendly_name, factor_type, status, secret, phone, created_at,
                                     updated_at)
            SELECT :factor_id, :user_id, :friendly_name, :factor_type::factor_type, 'unverified', :secret, :phone,
                   :now, :now
            FROM (SELECT count(*) AS enrolled, count(*) FILTER (WHERE status = 'verified') AS verified
                  FROM mfa_factors
                  WHERE user_id = :user_id) AS present
            WHERE present.enrolled < :max_enrolled
              AND (present.verified = 0 OR present.verified < :max_verified)
            RETURNING id
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM f)
        )
        SELECT f.id FROM f";

    DELETE_REPLACED = "factors.delete_replaced":
        "DELETE FROM mfa_factors f
         WHERE f.user_id = :user_id
           AND f.status = 'unverified'
           AND (f.id = ANY(:same_phone)
                OR (f.created_at < :stale_before AND f.last_challenged_at IS NULL))
         RETURNING f.id";

    #[proves(Audit)]
    UPDATE = "factors.update": "
        WITH f AS (
            UPDATE mfa_factors
            SET friendly_name = COALESCE(:friendly_name, friendly_name),
                phone = COALESCE(:phone, phone),
                updated_at = CASE WHEN :friendly_name IS NULL AND :phone IS NULL THEN updated_at ELSE :now END
            WHERE id = :factor_id
              AND user_id = :user_id
            RETURNING updated_at
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM f)
        )
        SELECT f.updated_at FROM f";

    /// A verified factor stays if it is the last of the types `usable` of a user with recovery codes; NULL for no such
    /// rule.
    #[proves(Audit)]
    DELETE = "factors.delete": "
        WITH before AS (
            SELECT d.id,
                   d.status <> 'verified'
                   OR :usable::text[] IS NULL
                   OR NOT EXISTS (SELECT FROM mfa_factors r
                                  WHERE r.user_id = :user_id
                                    AND r.factor_type::text = 'recovery_code'
                                    AND r.id <> d.id)
                   OR EXISTS (SELECT FROM mfa_factors o
                              WHERE o.user_id = :user_id
                                AND o.id <> d.id
                                AND o.status = 'verified'
                                AND o.factor_type::text = ANY(:usable::text[])) AS may_go
            FROM mfa_factors d
            WHERE d.id = :factor_id
              AND d.user_id = :user_id
        ), f AS (
            DELETE FROM mfa_factors WHERE id IN (SELECT before.id FROM before WHERE before.may_go) RETURNING id
        ), c AS (
            DELETE FROM mfa_amr_claims
            WHERE authentication_method = :amr_method
              AND session_id IN (SELECT s.id FROM sessions s
                                 WHERE s.user_id = :user_id AND s.factor_id IN (SELECT f.id FROM f))
        ), s AS (
            UPDATE sessions SET aal = 'aal1', factor_id = NULL
            WHERE user_id = :user_id AND factor_id IN (SELECT f.id FROM f)
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM f)
        )
        SELECT before.may_go FROM before";
}

/// The unique constraint on a user's factor names.
pub(super) const NAME_UNIQUE: &str = "mfa_factors_user_friendly_name_unique";
/// The unique constraint on a user's phone factors.
const PHONE_UNIQUE: &str = "unique_phone_factor_per_user";

/// A factor to enroll.
#[derive(Debug)]
pub struct NewFactor<'a> {
    pub id: Uuid,
    pub user_id: Uuid,
    pub friendly_name: &'a str,
    pub factor_type: FactorType,
    /// `phone`, digits.
    pub phone: Option<&'a str>,
    /// `secret` as stored; `""` for none.
    pub secret: &'a str,
    /// `created_at`.
    pub now: Time,
}

/// The maximum numbers of factors of a user.
#[derive(Debug, Clone, Copy)]
pub struct FactorLimits {
    /// All factors.
    pub enrolled: usize,
    /// Verified factors; `None` allows no further factor once one is verified.
    pub verified: Option<usize>,
}

/// The outcome of inserting a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum FactorInsertion {
    /// The factor was inserted.
    Written,
    /// The user has the maximum number of factors.
    LimitReached,
    /// A factor of the user has the name.
    NameTaken,
    /// A factor of the user has the number.
    PhoneTaken,
}

/// Locks a user until the transaction ends, so that the user's factors do not change meanwhile.
pub(super) async fn lock_owner(db: &mut Connection, user_id: Uuid) -> Result<()> {
    let _: Option<(Uuid,)> = db.fetch_optional(bind!(LOCK_OWNER, user_id)).await?;
    Ok(())
}

/// Inserts an unverified factor within the limits, with its audit rows.
///
/// Requires a transaction: the user is locked before its factors are counted, so that of two concurrent inserts the
/// later counts the earlier.
pub async fn insert(
    db: &mut Connection,
    new: NewFactor<'_>,
    limits: FactorLimits,
    audit: Vec<AuditRow>,
) -> Result<FactorInsertion> {
    lock_owner(db, new.user_id).await?;
    let most = |limit| i64::try_from(limit).unwrap_or(i64::MAX);
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(
        INSERT,
        factor_id: new.id,
        user_id: new.user_id,
        friendly_name: new.friendly_name,
        factor_type: new.factor_type.as_str(),
        secret: new.secret,
        phone: new.phone,
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
            Some(PHONE_UNIQUE) => Ok(FactorInsertion::PhoneTaken),
            _ => Err(error),
        },
    }
}

/// Deletes the factors that a new one replaces, and returns their ids.
pub async fn delete_replaced(db: &mut Connection, user_id: Uuid, leftovers: ReplacedFactors) -> Result<Vec<Uuid>> {
    let bound = bind!(
        DELETE_REPLACED,
        user_id,
        same_phone: leftovers.same_phone,
        stale_before: leftovers.stale_before,
    );
    let rows: Vec<(Uuid,)> = db.fetch_all(bound).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// An administrator's changes of a factor.
#[derive(Debug, Clone, Copy)]
pub struct FactorChange<'a> {
    /// The factor.
    pub id: Uuid,
    pub user_id: Uuid,
    /// `friendly_name`, if it changes.
    pub friendly_name: Option<&'a str>,
    /// `phone`, if it changes.
    pub phone: Option<&'a str>,
    /// The time of the request.
    pub now: Time,
}

/// Updates a factor and returns its `updated_at`; `None` if it does not exist.
pub async fn update(db: &mut Connection, change: FactorChange<'_>, audit: Vec<AuditRow>) -> Result<Option<Time>> {
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(
        UPDATE,
        factor_id: change.id,
        user_id: change.user_id,
        friendly_name: change.friendly_name,
        phone: change.phone,
        now: change.now,
        ..audit,
    );
    let updated: Option<(Time,)> = db.fetch_optional(bound).await?;
    Ok(updated.map(|(at,)| at))
}

/// A factor to delete.
#[derive(Debug)]
pub struct RemovedFactor<'a> {
    /// The factor.
    pub id: Uuid,
    pub user_id: Uuid,
    /// The `amr` method of its type.
    pub amr_method: &'a str,
    /// The types of factors of which a user with recovery codes keeps one; `None` for no such rule.
    pub kept: Option<Vec<&'static str>>,
}

/// The outcome of deleting a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum FactorRemoval {
    /// The factor was deleted.
    Deleted,
    /// The user has no such factor.
    NotFound,
    /// It is the last factor that the user can use beside recovery codes.
    LastUsable,
}

/// Deletes a factor and lowers the sessions it raised to `aal1`. Recovery codes of the factor are deleted, too.
///
/// The user's sessions must be locked (`elevation::lock_sessions`), or a concurrently raised one keeps `aal2`.
pub async fn delete(db: &mut Connection, removed: RemovedFactor<'_>, audit: Vec<AuditRow>) -> Result<FactorRemoval> {
    let audit = AuditArrays::from_rows(audit);
    let usable: Option<Vec<String>> = removed.kept.map(|types| types.iter().map(ToString::to_string).collect());
    let bound = bind!(
        DELETE,
        factor_id: removed.id,
        user_id: removed.user_id,
        amr_method: removed.amr_method,
        usable,
        ..audit,
    );
    Ok(match db.fetch_optional::<(bool,)>(bound).await? {
        Some((true,)) => FactorRemoval::Deleted,
        Some((false,)) => FactorRemoval::LastUsable,
        None => FactorRemoval::NotFound,
    })
}
