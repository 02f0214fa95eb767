//! `auth.mfa_challenges`: creating, reading and consuming MFA challenges.

use std::net::IpAddr;

use foundation::time::Time;
use gotrue_rules::domain::mfa::verification::FactorChallenge;
use gotrue_rules::wire::webauthn::SessionData;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::types::ipnetwork::IpNetwork;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};

statements! {
    #[proves(Audit)]
    INSERT = "challenges.insert": "
        WITH f AS (
            UPDATE mfa_factors SET last_challenged_at = :now, updated_at = :now WHERE id = :factor_id RETURNING id
        ), c AS (
            INSERT INTO mfa_challenges (id, factor_id, created_at, ip_address, otp_code, web_authn_session_data)
            SELECT :challenge_id, f.id, :now, :address, :otp_code, :session_data FROM f
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM f)
        )
        SELECT f.id FROM f";

    /// `last_step` is the latest TOTP step that consumed a challenge of the factor since `:since`.
    ///
    /// It is selected by time, because no index covers the factor.
    #[repeatable]
    WITH_SECRET = "challenges.with_secret":
        "SELECT c.id, c.created_at, c.verified_at, c.ip_address, c.otp_code, c.web_authn_session_data, f.secret,
                (SELECT max(substr(u.otp_code, 6)::bigint)
                 FROM mfa_challenges u
                 WHERE u.created_at > :since
                   AND u.factor_id = :factor_id
                   AND u.verified_at IS NOT NULL
                   AND u.otp_code ~ '^step:[0-9]{1,15}$') AS last_step
         FROM mfa_challenges c
         JOIN mfa_factors f ON f.id = c.factor_id
         WHERE c.id = :challenge_id
           AND c.factor_id = :factor_id";

    DELETE = "challenges.delete": "DELETE FROM mfa_challenges WHERE id = :challenge_id";

    /// Accepts a TOTP step only if no challenge of the factor was consumed by it or a later one.
    CONSUME = "challenges.consume":
        "WITH c AS (
             UPDATE mfa_challenges
             SET verified_at = :now, otp_code = COALESCE('step:' || :step::bigint::text, otp_code)
             WHERE id = :challenge_id
               AND factor_id = :factor_id
               AND verified_at IS NULL
               AND (:step::bigint IS NULL
                    OR COALESCE((SELECT max(substr(u.otp_code, 6)::bigint)
                                 FROM mfa_challenges u
                                 WHERE u.created_at > :since
                                   AND u.factor_id = :factor_id
                                   AND u.verified_at IS NOT NULL
                                   AND u.otp_code ~ '^step:[0-9]{1,15}$'), -1) < :step)
             RETURNING factor_id
         )
         UPDATE mfa_factors f
         SET status = 'verified',
             updated_at = CASE WHEN f.status = 'verified' AND :secret::text IS NULL THEN f.updated_at ELSE :now END,
             secret = COALESCE(:secret, f.secret)
         FROM c
         WHERE f.id = c.factor_id
         RETURNING f.id";
}

/// The unique constraint on the time of the latest challenge over all factors.
pub const LAST_CHALLENGED_AT_UNIQUE: &str = "mfa_factors_last_challenged_at_key";

/// A challenge to insert.
#[derive(Debug, Clone)]
pub struct NewFactorChallenge<'a> {
    pub id: Uuid,
    pub factor_id: Uuid,
    /// `created_at`, and the factor's `last_challenged_at` and `updated_at`.
    pub now: Time,
    /// `ip_address` of the client.
    pub address: IpAddr,
    /// `otp_code` as stored; `""` for none.
    pub otp_code: &'a str,
    /// `web_authn_session_data` of a WebAuthn factor.
    pub session: Option<&'a SessionData>,
    /// Audit rows of the challenge.
    pub audit: Vec<AuditRow>,
}

/// Inserts a challenge; false if its factor no longer exists.
pub async fn insert(db: &mut Connection, new: NewFactorChallenge<'_>) -> Result<bool> {
    let audit = AuditArrays::from_rows(new.audit);
    let bound = bind!(
        INSERT,
        challenge_id: new.id,
        factor_id: new.factor_id,
        now: new.now,
        address: IpNetwork::from(new.address),
        otp_code: new.otp_code,
        session_data: new.session.map(Json),
        ..audit,
    );
    let made: Option<(Uuid,)> = db.fetch_optional(bound).await?;
    Ok(made.is_some())
}

/// A challenge with the secrets that an answer is compared to.
pub struct ChallengeWithSecret {
    pub challenge: FactorChallenge,
    /// The factor's `secret` as stored.
    pub secret: String,
    /// The challenge's `otp_code` as stored.
    pub otp_code: String,
    /// The ceremony's state of a WebAuthn factor.
    pub session: Option<SessionData>,
    /// The latest TOTP step of the factor's consumed challenges; see [`ConsumedChallenge::step`].
    pub last_step: Option<i64>,
}

/// Omits the secrets.
impl std::fmt::Debug for ChallengeWithSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("challenge", &self.challenge).finish_non_exhaustive()
    }
}

impl FromRow<'_, PgRow> for ChallengeWithSecret {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let text = |column| row.try_get::<Option<String>, _>(column).map(Option::unwrap_or_default);
        Ok(Self {
            challenge: FactorChallenge {
                id: row.try_get("id")?,
                created_at: TimeColumn::read(row, "created_at")?,
                verified_at: TimeColumn::read(row, "verified_at")?,
                ip_address: Some(row.try_get::<IpNetwork, _>("ip_address")?.ip()),
            },
            secret: text("secret")?,
            otp_code: text("otp_code")?,
            session: row.try_get::<Option<Json<SessionData>>, _>("web_authn_session_data")?.map(|session| session.0),
            last_step: row.try_get("last_step")?,
        })
    }
}

/// Returns the factor's challenge, and the latest step recorded by challenges created since `since`.
pub async fn find_with_secret(
    db: &mut Connection,
    id: Uuid,
    factor_id: Uuid,
    since: Time,
) -> Result<Option<ChallengeWithSecret>> {
    db.fetch_optional(bind!(WITH_SECRET, challenge_id: id, factor_id, since)).await
}

/// Deletes a challenge; false if it was gone. Of two concurrent calls one deletes it.
pub async fn delete(db: &mut Connection, id: Uuid) -> Result<bool> {
    Ok(db.execute(bind!(DELETE, challenge_id: id)).await? > 0)
}

/// A challenge with a valid answer.
#[derive(Debug, Clone, Copy)]
pub struct ConsumedChallenge<'a> {
    /// The challenge.
    pub id: Uuid,
    pub factor_id: Uuid,
    /// The time of the answer.
    pub now: Time,
    /// The TOTP step of the code, if each code is accepted once.
    ///
    /// The challenge stores it in `otp_code`, which is empty for an authenticator app, and no code of this or an
    /// earlier step is accepted again.
    pub step: Option<i64>,
    /// Challenges created before this are ignored.
    pub since: Time,
    /// The factor's secret, if it is to be sealed with the current key.
    pub resealed_secret: Option<&'a str>,
}

/// Consumes a challenge and marks its factor as verified, unless challenge or code were used before.
///
/// The user's sessions must be locked (`elevation::lock_sessions`), which serializes concurrent answers.
pub async fn consume(db: &mut Connection, spending: ConsumedChallenge<'_>) -> Result<bool> {
    let ConsumedChallenge { id, factor_id, now, step, since, resealed_secret: sealed } = spending;
    let bound = bind!(CONSUME, challenge_id: id, factor_id, now, step, secret: sealed, since);
    let spent: Option<(Uuid,)> = db.fetch_optional(bound).await?;
    Ok(spent.is_some())
}
