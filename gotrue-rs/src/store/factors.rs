//! `auth.mfa_factors`: enrolling, updating and deleting factors. Verification is in `elevation.rs`.

use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::enrollment::ReplacedFactors;
use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::statement::{Connection, Statement, args};

/// The unique constraint on a user's factor names.
const NAME_UNIQUE: &str = "mfa_factors_user_friendly_name_unique";
/// The unique constraint on a user's phone factors.
const PHONE_UNIQUE: &str = "unique_phone_factor_per_user";

/// A factor to enroll.
#[derive(Debug)]
pub struct NewFactor<'a> {
    /// `id`.
    pub id: Uuid,
    /// The user.
    pub user_id: Uuid,
    /// `friendly_name`.
    pub friendly_name: &'a str,
    /// `factor_type`.
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

const LOCK_OWNER: Statement =
    Statement { name: "factors.lock_owner", sql: "SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE" };

const INSERT: Statement = Statement {
    name: "factors.insert",
    sql: concat!(
        "WITH f AS (
             INSERT INTO mfa_factors (id, user_id, friendly_name, factor_type, status, secret, phone, created_at, updated_at)
             SELECT $1, $2, $3, $4::factor_type, 'unverified', $5, $6, $7, $7
             FROM (SELECT count(*) AS enrolled, count(*) FILTER (WHERE status = 'verified') AS verified
                   FROM mfa_factors
                   WHERE user_id = $2) AS present
             WHERE present.enrolled < $12
               AND (present.verified = 0 OR present.verified < $13)
             RETURNING id
         ), a AS (",
        audit_insert!(8, 9, 10, 11),
        " WHERE EXISTS (SELECT FROM f)
         )
         SELECT f.id FROM f"
    ),
};

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
    let _: Option<(Uuid,)> = db.fetch_optional(&LOCK_OWNER, args![new.user_id]).await?;
    let most = |limit| i64::try_from(limit).unwrap_or(i64::MAX);
    let audit = AuditArrays::from_rows(audit);
    let values = args![
        new.id,
        new.user_id,
        new.friendly_name,
        new.factor_type.as_str(),
        new.secret,
        new.phone,
        new.now,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
        most(limits.enrolled),
        most(limits.verified.unwrap_or(0)),
    ];
    let inserted: Result<Option<(Uuid,)>> = db.fetch_optional(&INSERT, values).await;
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

const DELETE_REPLACED: Statement = Statement {
    name: "factors.delete_leftovers",
    sql: "DELETE FROM mfa_factors f
          WHERE f.user_id = $1
            AND f.status = 'unverified'
            AND (f.id = ANY($2)
                 OR (f.created_at < $3 AND f.last_challenged_at IS NULL))
          RETURNING f.id",
};

/// Deletes the factors that a new one replaces, and returns their ids.
pub async fn delete_replaced(db: &mut Connection, user_id: Uuid, leftovers: ReplacedFactors) -> Result<Vec<Uuid>> {
    let rows: Vec<(Uuid,)> =
        db.fetch_all(&DELETE_REPLACED, args![user_id, leftovers.same_phone, leftovers.stale_before]).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

const UPDATE: Statement = Statement {
    name: "factors.update",
    sql: concat!(
        "WITH f AS (
             UPDATE mfa_factors
             SET friendly_name = COALESCE($3, friendly_name),
                 phone = COALESCE($4, phone),
                 updated_at = CASE WHEN $3 IS NULL AND $4 IS NULL THEN updated_at ELSE $5 END
             WHERE id = $1
               AND user_id = $2
             RETURNING updated_at
         ), a AS (",
        audit_insert!(6, 7, 8, 9),
        " WHERE EXISTS (SELECT FROM f)
         )
         SELECT f.updated_at FROM f"
    ),
};

/// An administrator's changes of a factor.
#[derive(Debug, Clone, Copy)]
pub struct FactorChange<'a> {
    /// The factor.
    pub id: Uuid,
    /// The user.
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
    let values = args![
        change.id,
        change.user_id,
        change.friendly_name,
        change.phone,
        change.now,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    let updated: Option<(Time,)> = db.fetch_optional(&UPDATE, values).await?;
    Ok(updated.map(|(at,)| at))
}

const DELETE: Statement = Statement {
    name: "factors.delete",
    sql: concat!(
        "WITH f AS (
             DELETE FROM mfa_factors WHERE id = $1 AND user_id = $2 RETURNING id
         ), c AS (
             DELETE FROM mfa_amr_claims
             WHERE authentication_method = $3
               AND session_id IN (SELECT s.id FROM sessions s WHERE s.user_id = $2 AND s.factor_id = $1)
         ), s AS (
             UPDATE sessions SET aal = 'aal1', factor_id = NULL WHERE user_id = $2 AND factor_id = $1
         ), a AS (",
        audit_insert!(4, 5, 6, 7),
        " WHERE EXISTS (SELECT FROM f)
         )
         SELECT f.id FROM f"
    ),
};

/// Deletes a factor and lowers the sessions it raised to `aal1`; false if it does not exist.
///
/// The user's sessions must be locked (`elevation::lock_sessions`), or a concurrently raised one keeps `aal2`.
pub async fn delete(
    db: &mut Connection,
    user_id: Uuid,
    factor: (Uuid, FactorType),
    audit: Vec<AuditRow>,
) -> Result<bool> {
    let audit = AuditArrays::from_rows(audit);
    let (id, kind) = factor;
    let values = args![id, user_id, kind.amr_method(), audit.ids, audit.payloads, audit.times, audit.addresses];
    let deleted: Option<(Uuid,)> = db.fetch_optional(&DELETE, values).await?;
    Ok(deleted.is_some())
}

/// All statements of this file.
pub const ALL: &[&Statement] = &[&LOCK_OWNER, &INSERT, &DELETE_REPLACED, &UPDATE, &DELETE];
