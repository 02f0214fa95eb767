//! `auth.mfa_factors` of security keys: the keys of an account, and a challenge that one of them answered.

use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::factor::LastChallengeJson;
use gotrue_rules::wire::webauthn::KeyRecord;
use sqlx::types::Json;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// A security key that an account has verified.
#[derive(Debug)]
pub struct Key {
    /// Its factor.
    pub factor_id: Uuid,
    /// The key.
    pub record: KeyRecord,
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

/// The keys that the account has verified, in the order in which the account shows them: the one touched last comes last.
pub async fn of_account(db: &mut Connection, user_id: Uuid) -> Result<Vec<Key>> {
    let rows: Vec<(Uuid, Json<KeyRecord>)> = db.all(&OF_ACCOUNT, args![user_id]).await?;
    Ok(rows.into_iter().map(|(factor_id, record)| Key { factor_id, record: record.0 }).collect())
}

/// A challenge that was answered rightly.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The challenge.
    pub challenge_id: Uuid,
    /// Its factor.
    pub factor_id: Uuid,
    /// The key that was made for it, with its model; none where a key was used.
    pub made: Option<(&'a KeyRecord, Uuid)>,
    /// `last_webauthn_challenge_data`.
    pub last: &'a LastChallengeJson<'a>,
    /// When it was answered.
    pub now: Time,
}

const SPEND: Statement = Statement {
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

/// Uses a challenge up: a key that was made verifies its factor, which had none; one that was used leaves it verified.
/// Whether the challenge was still there and the factor still so: if not, nothing must be kept of it. The account's
/// sessions must be locked (`elevation::lock`), so that two answers stand in a row.
pub async fn spend(db: &mut Connection, answered: Answered<'_>) -> Result<bool> {
    let (record, aaguid) = answered.made.unzip();
    let values =
        args![answered.challenge_id, answered.factor_id, answered.now, Json(answered.last), record.map(Json), aaguid,];
    let spent: Option<(Uuid,)> = db.optional(&SPEND, values).await?;
    Ok(spent.is_some())
}

/// A key that was used.
#[derive(Debug)]
pub struct Used {
    /// Its factor.
    pub factor_id: Uuid,
    /// The counter it was held against.
    pub relied_on: u32,
    /// The counter that came.
    pub came: u32,
    /// Whether nobody else may have used it meanwhile.
    pub alone: bool,
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

/// Remembers the higher signature counter of a key; whether the key is still there, and still what was relied on.
pub async fn used(db: &mut Connection, used: Used) -> Result<bool> {
    let values = args![used.factor_id, i64::from(used.came), used.alone, i64::from(used.relied_on)];
    let updated: Option<(Uuid,)> = db.optional(&USE, values).await?;
    Ok(updated.is_some())
}

/// Every statement of this file.
pub const ALL: &[&Statement] = &[&OF_ACCOUNT, &SPEND, &USE];
