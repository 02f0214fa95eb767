//! `auth.webauthn_challenges`: challenges to passkeys. Each is used up by the first who answers it, rightly or not.

use gotrue_rules::domain::user::Time;
use gotrue_rules::wire::webauthn::SessionData;
use sqlx::types::Json;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// What a challenge is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// A new passkey of that account.
    Registration(Uuid),
    /// Whoever's passkey will answer.
    Authentication,
}

impl For {
    fn columns(self) -> (&'static str, Option<Uuid>) {
        match self {
            Self::Registration(user_id) => ("registration", Some(user_id)),
            Self::Authentication => ("authentication", None),
        }
    }
}

/// A challenge to be stored.
#[derive(Debug)]
pub struct NewChallenge<'a> {
    /// `id`.
    pub id: Uuid,
    /// `challenge_type` and `user_id`.
    pub purpose: For,
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

/// Stores a challenge.
pub async fn insert(db: &mut Connection, new: NewChallenge<'_>) -> Result<()> {
    let (kind, user_id) = new.purpose.columns();
    let values = args![new.id, user_id, kind, Json(new.session), new.now, new.expires_at];
    db.execute(&INSERT, values).await?;
    Ok(())
}

const USE_UP: Statement = Statement {
    name: "webauthn_challenges.use_up",
    sql: "DELETE FROM webauthn_challenges
          WHERE id = $1
            AND challenge_type = $2
            AND user_id IS NOT DISTINCT FROM $3
          RETURNING session_data, expires_at",
};

/// Takes a challenge away: what it was and when it ends or ended; none if there is no such challenge for that purpose.
/// Of two answers at once one gets it.
pub async fn use_up(db: &mut Connection, id: Uuid, purpose: For) -> Result<Option<(SessionData, Time)>> {
    let (kind, user_id) = purpose.columns();
    let row: Option<(Json<SessionData>, Time)> = db.optional(&USE_UP, args![id, kind, user_id]).await?;
    Ok(row.map(|(session, expires_at)| (session.0, expires_at)))
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&INSERT, &USE_UP];
