//! `auth.webauthn_challenges`: passkey challenges. Each is consumed by its first answer, valid or not.

use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::webauthn::SessionData;
use sqlx::types::Json;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

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
    /// `id`.
    pub id: Uuid,
    /// `challenge_type` and `user_id`.
    pub purpose: CeremonyPurpose,
    /// `session_data`.
    pub session: &'a SessionData,
    /// `created_at`.
    pub now: Time,
    /// `expires_at`.
    pub expires_at: Time,
}

const INSERT: Statement = Statement {
    name: "webauthn_challenges.insert",
    sql: "INSERT INTO webauthn_challenges (id, user_id, challenge_type, session_data, created_at, expires_at)
          VALUES ($1, $2, $3, $4, $5, $6)",
};

/// Inserts a challenge.
pub async fn insert(db: &mut Connection, new: NewWebauthnChallenge<'_>) -> Result<()> {
    let (kind, user_id) = new.purpose.columns();
    let values = args![new.id, user_id, kind, Json(new.session), new.now, new.expires_at];
    db.execute(&INSERT, values).await?;
    Ok(())
}

const CONSUME: Statement = Statement {
    name: "webauthn_challenges.use_up",
    sql: "DELETE FROM webauthn_challenges
          WHERE id = $1
            AND challenge_type = $2
            AND user_id IS NOT DISTINCT FROM $3
          RETURNING session_data, expires_at",
};

/// Deletes a challenge and returns its state and expiry; `None` if none exists for that ceremony.
///
/// Of two concurrent answers one gets it.
pub async fn consume(db: &mut Connection, id: Uuid, purpose: CeremonyPurpose) -> Result<Option<(SessionData, Time)>> {
    let (kind, user_id) = purpose.columns();
    let row: Option<(Json<SessionData>, Time)> = db.fetch_optional(&CONSUME, args![id, kind, user_id]).await?;
    Ok(row.map(|(session, expires_at)| (session.0, expires_at)))
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[&INSERT, &CONSUME];
