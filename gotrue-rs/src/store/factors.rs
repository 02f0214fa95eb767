//! `auth.mfa_factors`: setting up, changing and taking away. Verifying one is `elevation.rs`.

use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::enrolment::Leftovers;
use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::statement::{Connection, Statement, args};

/// No two factors of an account have one name.
const NAME_UNIQUE: &str = "mfa_factors_user_friendly_name_unique";
/// No two factors of an account have one number.
const PHONE_UNIQUE: &str = "unique_phone_factor_per_user";

/// A factor to be set up.
#[derive(Debug)]
pub struct NewFactor<'a> {
    /// `id`.
    pub id: Uuid,
    /// Whose it is.
    pub user_id: Uuid,
    /// `friendly_name`.
    pub friendly_name: &'a str,
    /// `factor_type`.
    pub factor_type: FactorType,
    /// `phone`, digits.
    pub phone: Option<&'a str>,
    /// `secret` as it is stored; `""` for none.
    pub secret: &'a str,
    /// `created_at`.
    pub now: Time,
}

/// How many factors an account may have.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of all of them.
    pub enrolled: usize,
    /// Of verified ones; none allows no factor beside a verified one, whatever the number.
    pub verified: Option<usize>,
}

/// Whether a new factor was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Insertion {
    /// It was.
    Written,
    /// The account has as many as it may have by now.
    LimitReached,
    /// A factor of the account has the name.
    NameTaken,
    /// A factor of the account has the number.
    NumberTaken,
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

/// Writes a new, unverified factor within the limits. Audit rows ride along. Wants a transaction: the account is locked
/// before its factors are counted, so that of two at once the later counts the earlier.
pub async fn insert(
    db: &mut Connection,
    new: NewFactor<'_>,
    limits: Limits,
    audit: Vec<AuditRow>,
) -> Result<Insertion> {
    let _: Option<(Uuid,)> = db.optional(&LOCK_OWNER, args![new.user_id]).await?;
    let most = |limit| i64::try_from(limit).unwrap_or(i64::MAX);
    let audit = AuditArrays::of(audit);
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
    let inserted: Result<Option<(Uuid,)>> = db.optional(&INSERT, values).await;
    match inserted {
        Ok(Some(_)) => Ok(Insertion::Written),
        Ok(None) => Ok(Insertion::LimitReached),
        Err(error) => match error.constraint() {
            Some(NAME_UNIQUE) => Ok(Insertion::NameTaken),
            Some(PHONE_UNIQUE) => Ok(Insertion::NumberTaken),
            _ => Err(error),
        },
    }
}

const DELETE_LEFTOVERS: Statement = Statement {
    name: "factors.delete_leftovers",
    sql: "DELETE FROM mfa_factors f
          WHERE f.user_id = $1
            AND f.status = 'unverified'
            AND (f.id = ANY($2)
                 OR (f.created_at < $3 AND f.last_challenged_at IS NULL))
          RETURNING f.id",
};

/// Deletes what a new factor pushes aside; which they were.
pub async fn delete_leftovers(db: &mut Connection, user_id: Uuid, leftovers: Leftovers) -> Result<Vec<Uuid>> {
    let rows: Vec<(Uuid,)> = db.all(&DELETE_LEFTOVERS, args![user_id, leftovers.twins, leftovers.stale_before]).await?;
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

/// What an administrator changes of a factor.
#[derive(Debug, Clone, Copy)]
pub struct FactorChange<'a> {
    /// The factor.
    pub id: Uuid,
    /// Whose it is.
    pub user_id: Uuid,
    /// `friendly_name`, if it changes.
    pub friendly_name: Option<&'a str>,
    /// `phone`, if it changes.
    pub phone: Option<&'a str>,
    /// The request's moment.
    pub now: Time,
}

/// Changes a factor and answers its `updated_at`; none if there is no such factor.
pub async fn update(db: &mut Connection, change: FactorChange<'_>, audit: Vec<AuditRow>) -> Result<Option<Time>> {
    let audit = AuditArrays::of(audit);
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
    let updated: Option<(Time,)> = db.optional(&UPDATE, values).await?;
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

/// Takes a factor away; the sessions that it lifted fall back to `aal1`. Whether there was such a factor. The account's
/// sessions must be locked (`elevation::lock`), or one that is lifted at this moment stays.
pub async fn delete(
    db: &mut Connection,
    user_id: Uuid,
    factor: (Uuid, FactorType),
    audit: Vec<AuditRow>,
) -> Result<bool> {
    let audit = AuditArrays::of(audit);
    let (id, kind) = factor;
    let values = args![id, user_id, kind.method(), audit.ids, audit.payloads, audit.times, audit.addresses];
    let deleted: Option<(Uuid,)> = db.optional(&DELETE, values).await?;
    Ok(deleted.is_some())
}

/// Every statement of this file.
pub const ALL: &[&Statement] = &[&LOCK_OWNER, &INSERT, &DELETE_LEFTOVERS, &UPDATE, &DELETE];
