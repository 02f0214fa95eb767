//! `auth.mfa_factors` of type WebAuthn: the keys of a user, and answered challenges.

use foundation::time::Time;
use gotrue_rules::wire::factor::LastChallengeJson;
use gotrue_rules::wire::webauthn::CredentialRecord;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use sqlx::types::Json;
use uuid::Uuid;

statements! {
    #[repeatable]
    OF_ACCOUNT = "webauthn_factors.of_account":
        "SELECT id, web_authn_credential
         FROM mfa_factors
         WHERE user_id = :user_id
           AND factor_type = 'webauthn'
           AND status = 'verified'
           AND web_authn_credential IS NOT NULL
         ORDER BY updated_at, last_challenged_at NULLS FIRST, id";

    CONSUME_CHALLENGE = "webauthn_factors.consume_challenge":
        "WITH c AS (
             DELETE FROM mfa_challenges WHERE id = :challenge_id AND factor_id = :factor_id RETURNING factor_id
         )
         UPDATE mfa_factors f
         SET status = 'verified',
             updated_at = :now,
             last_webauthn_challenge_data = :last_challenge_data,
             web_authn_credential = COALESCE(:credential, f.web_authn_credential),
             web_authn_aaguid = COALESCE(:aaguid, f.web_authn_aaguid)
         FROM c
         WHERE f.id = c.factor_id
           AND f.status = CASE WHEN :credential::jsonb IS NULL THEN 'verified' ELSE 'unverified' END::factor_status
         RETURNING f.id";

    USE = "webauthn_factors.record_use":
        "UPDATE mfa_factors f
         SET web_authn_credential = jsonb_set(
                 f.web_authn_credential,
                 '{authenticator,signCount}',
                 to_jsonb(greatest(k.count, :sign_count)))
         FROM (SELECT id, COALESCE((web_authn_credential #>> '{authenticator,signCount}')::bigint, 0) AS count
               FROM mfa_factors
               WHERE id = :factor_id) AS k
         WHERE f.id = k.id
           AND f.status = 'verified'
           AND (NOT :is_exclusive OR k.count = :expected_sign_count)
         RETURNING f.id";
}

/// A verified security key of a user.
#[derive(Debug)]
pub struct WebauthnKey {
    /// Its factor.
    pub factor_id: Uuid,
    /// The key.
    pub record: CredentialRecord,
}

/// Returns the user's verified keys, least recently updated first.
pub async fn list_by_user(db: &mut Connection, user_id: Uuid) -> Result<Vec<WebauthnKey>> {
    let rows: Vec<(Uuid, Json<CredentialRecord>)> = db.fetch_all(bind!(OF_ACCOUNT, user_id)).await?;
    Ok(rows.into_iter().map(|(factor_id, record)| WebauthnKey { factor_id, record: record.0 }).collect())
}

/// A challenge with a valid answer.
#[derive(Debug)]
pub struct ConsumedWebauthnChallenge<'a> {
    pub challenge_id: Uuid,
    pub factor_id: Uuid,
    /// The registered key with its AAGUID; `None` for an authentication.
    pub registered_key: Option<(&'a CredentialRecord, Uuid)>,
    /// `last_webauthn_challenge_data`.
    pub last_challenge_data: &'a LastChallengeJson<'a>,
    /// The time of the answer.
    pub now: Time,
}

/// Consumes a challenge; a registered key verifies its factor.
///
/// Returns false if the challenge is gone or the factor's status does not match; then the transaction must not be
/// committed. The user's sessions must be locked (`elevation::lock_sessions`), which serializes concurrent answers.
pub async fn consume_challenge(db: &mut Connection, answered: ConsumedWebauthnChallenge<'_>) -> Result<bool> {
    let (record, aaguid) = answered.registered_key.unzip();
    let bound = bind!(
        CONSUME_CHALLENGE,
        challenge_id: answered.challenge_id,
        factor_id: answered.factor_id,
        now: answered.now,
        last_challenge_data: Json(answered.last_challenge_data),
        credential: record.map(Json),
        aaguid,
    );
    let spent: Option<(Uuid,)> = db.fetch_optional(bound).await?;
    Ok(spent.is_some())
}

/// The use of a security key.
#[derive(Debug)]
pub struct WebauthnKeyUse {
    pub factor_id: Uuid,
    /// The signature counter that was verified against.
    pub expected_sign_count: u32,
    /// The new signature counter.
    pub new_sign_count: u32,
    /// Whether a concurrent use makes this one fail.
    pub is_exclusive: bool,
}

/// Stores the higher signature counter of a key.
///
/// False if the key is gone or no longer as it was verified.
pub async fn record_use(db: &mut Connection, used: WebauthnKeyUse) -> Result<bool> {
    let bound = bind!(
        USE,
        factor_id: used.factor_id,
        sign_count: i64::from(used.new_sign_count),
        is_exclusive: used.is_exclusive,
        expected_sign_count: i64::from(used.expected_sign_count),
    );
    let updated: Option<(Uuid,)> = db.fetch_optional(bound).await?;
    Ok(updated.is_some())
}
