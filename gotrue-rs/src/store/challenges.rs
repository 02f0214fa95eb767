//! `auth.mfa_challenges`: asking for one, reading it with the factor's secret, using it up.

use std::net::IpAddr;

use gotrue_rules::domain::mfa::verification::Challenge;
use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::webauthn::SessionData;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::types::ipnetwork::IpNetwork;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::statement::{Connection, Statement, args};

/// The moments of the latest challenges are unique over all factors.
pub const MOMENT_UNIQUE: &str = "mfa_factors_last_challenged_at_key";

/// A challenge to be made.
#[derive(Debug, Clone)]
pub struct NewChallenge<'a> {
    /// `id`.
    pub id: Uuid,
    /// Whose it is.
    pub factor_id: Uuid,
    /// `created_at`, and the factor's `last_challenged_at` and `updated_at`.
    pub now: Time,
    /// `ip_address`: who asks.
    pub address: IpAddr,
    /// `otp_code` as it is stored; `""` for none.
    pub otp_code: &'a str,
    /// `web_authn_session_data`, of a security key.
    pub session: Option<&'a SessionData>,
    /// What the audit log is told.
    pub audit: Vec<AuditRow>,
}

const INSERT: Statement = Statement {
    name: "challenges.insert",
    sql: concat!(
        "WITH f AS (
             UPDATE mfa_factors SET last_challenged_at = $3, updated_at = $3 WHERE id = $2 RETURNING id
         ), c AS (
             INSERT INTO mfa_challenges (id, factor_id, created_at, ip_address, otp_code, web_authn_session_data)
             SELECT $1, f.id, $3, $4, $5, $6 FROM f
         ), a AS (",
        audit_insert!(7, 8, 9, 10),
        " WHERE EXISTS (SELECT FROM f)
         )
         SELECT f.id FROM f"
    ),
};

/// Makes a challenge; false if its factor is gone.
pub async fn insert(db: &mut Connection, new: NewChallenge<'_>) -> Result<bool> {
    let audit = AuditArrays::of(new.audit);
    let values = args![
        new.id,
        new.factor_id,
        new.now,
        IpNetwork::from(new.address),
        new.otp_code,
        new.session.map(Json),
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    let made: Option<(Uuid,)> = db.optional(&INSERT, values).await?;
    Ok(made.is_some())
}

/// A challenge with what an answer is compared to.
pub struct Kept {
    /// The challenge.
    pub challenge: Challenge,
    /// The factor's `secret` as it is stored.
    pub secret: String,
    /// The challenge's `otp_code` as it is stored.
    pub otp_code: String,
    /// What was asked of a security key.
    pub session: Option<SessionData>,
    /// The latest step whose code an answered challenge of the factor remembers; see [`Spending::step`].
    pub last_step: Option<i64>,
}

/// Does not print what an answer is compared to.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("challenge", &self.challenge).finish_non_exhaustive()
    }
}

impl FromRow<'_, PgRow> for Kept {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let text = |column| row.try_get::<Option<String>, _>(column).map(Option::unwrap_or_default);
        Ok(Self {
            challenge: Challenge {
                id: row.try_get("id")?,
                created_at: row.try_get("created_at")?,
                verified_at: row.try_get("verified_at")?,
                ip_address: Some(row.try_get::<IpNetwork, _>("ip_address")?.ip()),
            },
            secret: text("secret")?,
            otp_code: text("otp_code")?,
            session: row.try_get::<Option<Json<SessionData>>, _>("web_authn_session_data")?.map(|session| session.0),
            last_step: row.try_get("last_step")?,
        })
    }
}

/// The latest step that answered challenges of the factor `$2` remember, if they were made since then. By time and not
/// by factor, which has no index.
macro_rules! last_step {
    ($since:literal) => {
        concat!(
            "SELECT max(substr(u.otp_code, 6)::bigint)
             FROM mfa_challenges u
             WHERE u.created_at > $",
            $since,
            "
               AND u.factor_id = $2
               AND u.verified_at IS NOT NULL
               AND u.otp_code ~ '^step:[0-9]{1,15}$'"
        )
    };
}

const WITH_SECRET: Statement = Statement {
    name: "challenges.with_secret",
    sql: concat!(
        "SELECT c.id, c.created_at, c.verified_at, c.ip_address, c.otp_code, c.web_authn_session_data, f.secret,
                (",
        last_step!(3),
        ") AS last_step
         FROM mfa_challenges c
         JOIN mfa_factors f ON f.id = c.factor_id
         WHERE c.id = $1
           AND c.factor_id = $2"
    ),
};

/// The factor's challenge of that id, and the latest step that challenges made since then remember.
pub async fn with_secret(db: &mut Connection, id: Uuid, factor_id: Uuid, since: Time) -> Result<Option<Kept>> {
    db.optional(&WITH_SECRET, args![id, factor_id, since]).await
}

const DELETE: Statement = Statement { name: "challenges.delete", sql: "DELETE FROM mfa_challenges WHERE id = $1" };

/// Deletes a challenge. Whether it was there: of two at once one deletes it.
pub async fn delete(db: &mut Connection, id: Uuid) -> Result<bool> {
    Ok(db.execute(&DELETE, args![id]).await? > 0)
}

/// A challenge that was answered rightly.
#[derive(Debug, Clone, Copy)]
pub struct Spending<'a> {
    /// The challenge.
    pub id: Uuid,
    /// Its factor.
    pub factor_id: Uuid,
    /// When it was answered.
    pub now: Time,
    /// The step whose code was given, where a code counts once. The challenge keeps it in `otp_code`, which is empty
    /// for an app, and no code of this step or an earlier one is taken again.
    pub step: Option<i64>,
    /// Challenges made before this are not asked.
    pub since: Time,
    /// The factor's secret, where it is to be stored anew.
    pub sealed: Option<&'a str>,
}

const SPEND: Statement = Statement {
    name: "challenges.spend",
    sql: concat!(
        "WITH c AS (
             UPDATE mfa_challenges
             SET verified_at = $3, otp_code = COALESCE('step:' || $4::bigint::text, otp_code)
             WHERE id = $1
               AND factor_id = $2
               AND verified_at IS NULL
               AND ($4::bigint IS NULL OR COALESCE((",
        last_step!(6),
        "), -1) < $4)
             RETURNING factor_id
         )
         UPDATE mfa_factors f
         SET status = 'verified',
             updated_at = CASE WHEN f.status = 'verified' AND $5::text IS NULL THEN f.updated_at ELSE $3 END,
             secret = COALESCE($5, f.secret)
         FROM c
         WHERE f.id = c.factor_id
         RETURNING f.id"
    ),
};

/// Uses a challenge up and marks its factor as verified, if nobody has used it, or the code, before. The account's
/// sessions must be locked (`elevation::lock`), so that two answers stand in a row.
pub async fn spend(db: &mut Connection, spending: Spending<'_>) -> Result<bool> {
    let Spending { id, factor_id, now, step, since, sealed } = spending;
    let spent: Option<(Uuid,)> = db.optional(&SPEND, args![id, factor_id, now, step, sealed, since]).await?;
    Ok(spent.is_some())
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&INSERT, &WITH_SECRET, &DELETE, &SPEND];
