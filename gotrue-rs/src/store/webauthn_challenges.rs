//! `auth.webauthn_challenges`: passkey challenges. Each is consumed by its first answer, valid or not.

use foundation::time::Time;
use gotrue_rules::wire::webauthn::SessionData;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::StoredTime;
use sqlx::types::Json;
use uuid::Uuid;

statements! {
    INSERT = "webauthn_challenges.insert":
        "INSERT INTO webauthn_challenges (id, user_id, challenge_type, session_data, created_at, expires_at)
         VALUES (:challenge_id, :user_id, :challenge_type, :session_data, :now, :expires_at)";

    CONSUME = "webauthn_challenges.consume":
        "DELETE FROM webauthn_challenges
         WHERE id = :challenge_id
           AND challenge_type = :challenge_type
           AND user_id IS NOT DISTINCT FROM :user_id
         RETURNING session_data, expires_at";
}

/// The ceremony of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CeremonyPurpose {
    /// Registration of a passkey of that user.
    Registration(Uuid),
    /// Authentication with any user's passkey.
    Authentication,
}

impl CeremonyPurpose {
    fn columns(self) -> (&'static str, Option<Uuid>) {
        match self {
            Self::Registration(user_id) => ("registration", Some(user_id)),
            Self::Authentication => ("authentication", None),
        }
    }
}

/// A challenge to insert.
#[derive(Debug)]
pub struct NewWebauthnChallenge<'a> {
    pub id: Uuid,
    /// `challenge_type` and `user_id`.
    pub purpose: CeremonyPurpose,
    /// `session_data`.
    pub session: &'a SessionData,
    /// `created_at`.
    pub now: Time,
    pub expires_at: Time,
}

/// Inserts a challenge.
pub async fn insert(db: &mut Connection, new: NewWebauthnChallenge<'_>) -> Result<()> {
    let (kind, user_id) = new.purpose.columns();
    let bound = bind!(
        INSERT,
        challenge_id: new.id,
        user_id,
        challenge_type: kind,
        session_data: Json(new.session),
        now: new.now,
        expires_at: new.expires_at,
    );
    db.execute(bound).await?;
    Ok(())
}

/// Deletes a challenge and returns its state and expiry; `None` if none exists for that ceremony.
///
/// Of two concurrent answers one gets it.
pub async fn consume(db: &mut Connection, id: Uuid, purpose: CeremonyPurpose) -> Result<Option<(SessionData, Time)>> {
    let (kind, user_id) = purpose.columns();
    let bound = bind!(CONSUME, challenge_id: id, challenge_type: kind, user_id);
    let row: Option<(Json<SessionData>, StoredTime)> = db.fetch_optional(bound).await?;
    Ok(row.map(|(session, expires_at)| (session.0, expires_at.0.and_utc())))
}
