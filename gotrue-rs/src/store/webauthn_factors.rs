//! `auth.mfa_factors` of type WebAuthn: the keys of a user, and answered challenges.

use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::factor::LastChallengeJson;
use gotrue_rules::wire::webauthn::CredentialRecord;
use sqlx::types::Json;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// A verified security key of a user.
#[derive(Debug)]
pub struct WebauthnKey {
    /// Its factor.
    pub factor_id: Uuid,
    /// The key.
    pub record: CredentialRecord,
}

const OF_ACCOUNT: Statement = Statement {
    name: "webauthn_factors.of_account",
    sql: "SELECT id, web_authn_credential
          FROM mfa_factors
          WHERE user_id = $1
            AND factor_type = 'webauthn'
            AND status = 'verified'
            AND web_authn_credential IS NOT NULL
          ORDER BY updated_at, last_challenged_at NULLS FIRST, id",
};

/// Returns the user's verified keys, least recently updated first.
pub async fn list_by_user(db: &mut Connection, user_id: Uuid) -> Result<Vec<WebauthnKey>> {
    let rows: Vec<(Uuid, Json<CredentialRecord>)> = db.fetch_all(&OF_ACCOUNT, args![user_id]).await?;
    Ok(rows.into_iter().map(|(factor_id, record)| WebauthnKey { factor_id, record: record.0 }).collect())
}

/// A challenge with a valid answer.
#[derive(Debug)]
pub struct ConsumedWebauthnChallenge<'a> {
    /// The challenge.
    pub challenge_id: Uuid,
    /// The factor.
    pub factor_id: Uuid,
    /// The registered key with its AAGUID; `None` for an authentication.
    pub registered_key: Option<(&'a CredentialRecord, Uuid)>,
    /// `last_webauthn_challenge_data`.
    pub last_challenge_data: &'a LastChallengeJson<'a>,
    /// The time of the answer.
    pub now: Time,
}

const CONSUME_CHALLENGE: Statement = Statement {
    name: "webauthn_factors.spend",
    sql: "WITH c AS (
              DELETE FROM mfa_challenges WHERE id = $1 AND factor_id = $2 RETURNING factor_id
          )
          UPDATE mfa_factors f
          SET status = 'verified',
              updated_at = $3,
              last_webauthn_challenge_data = $4,
              web_authn_credential = COALESCE($5, f.web_authn_credential),
              web_authn_aaguid = COALESCE($6, f.web_authn_aaguid)
          FROM c
          WHERE f.id = c.factor_id
            AND f.status = CASE WHEN $5::jsonb IS NULL THEN 'verified' ELSE 'unverified' END::factor_status
          RETURNING f.id",
};

/// Consumes a challenge; a registered key verifies its factor.
///
/// Returns false if the challenge is gone or the factor's status does not match; then the transaction must not be
/// committed. The user's sessions must be locked (`elevation::lock_sessions`), which serializes concurrent answers.
pub async fn consume_challenge(db: &mut Connection, answered: ConsumedWebauthnChallenge<'_>) -> Result<bool> {
    let (record, aaguid) = answered.registered_key.unzip();
    let values = args![
        answered.challenge_id,
        answered.factor_id,
        answered.now,
        Json(answered.last_challenge_data),
        record.map(Json),
        aaguid,
    ];
    let spent: Option<(Uuid,)> = db.fetch_optional(&CONSUME_CHALLENGE, values).await?;
    Ok(spent.is_some())
}

/// The use of a security key.
#[derive(Debug)]
pub struct WebauthnKeyUse {
    /// The factor.
    pub factor_id: Uuid,
    /// The signature counter that was verified against.
    pub expected_sign_count: u32,
    /// The new signature counter.
    pub new_sign_count: u32,
    /// Whether a concurrent use makes this one fail.
    pub is_exclusive: bool,
}

const USE: Statement = Statement {
    name: "webauthn_factors.use",
    sql: "UPDATE mfa_factors f
          SET web_authn_credential = jsonb_set(
                  f.web_authn_credential,
                  '{authenticator,signCount}',
                  to_jsonb(greatest(k.count, $2)))
          FROM (SELECT id, COALESCE((web_authn_credential #>> '{authenticator,signCount}')::bigint, 0) AS count
                FROM mfa_factors
                WHERE id = $1) AS k
          WHERE f.id = k.id
            AND f.status = 'verified'
            AND (NOT $3 OR k.count = $4)
          RETURNING f.id",
};

/// Stores the higher signature counter of a key.
///
/// False if the key is gone or no longer as it was verified.
pub async fn record_use(db: &mut Connection, used: WebauthnKeyUse) -> Result<bool> {
    let values =
        args![used.factor_id, i64::from(used.new_sign_count), used.is_exclusive, i64::from(used.expected_sign_count)];
    let updated: Option<(Uuid,)> = db.fetch_optional(&USE, values).await?;
    Ok(updated.is_some())
}

/// All statements of this file.
pub const ALL: &[&Statement] = &[&OF_ACCOUNT, &CONSUME_CHALLENGE, &USE];
