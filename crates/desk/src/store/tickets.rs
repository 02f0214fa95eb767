//! `basalt.desk_tickets`: sign-ins and registrations of passkeys that are not complete.

use foundation::time::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::auth_session::AuthSession;

statements! {
    INSERT = "desk_tickets.insert": "
        INSERT INTO basalt.desk_tickets (token_hash, purpose, user_id, session_id, subject, address, created_at, expires_at)
        VALUES (:token_hash, :purpose, :user_id, :session_id, :subject, :address, :now, :expires_at)";

    /// Counts an attempt, and returns how many there were with all tickets of the user.
    ///
    /// At an address from which the user has signed in before, those with tickets of that address: wrong codes from other
    /// networks, by a client that has the password, do not lock it out. One ticket has five attempts everywhere.
    USE = "desk_tickets.use": "
        UPDATE basalt.desk_tickets t
        SET attempts = t.attempts + 1
        WHERE t.token_hash = :token_hash
          AND t.purpose IN (:purpose, :other_purpose)
          AND t.expires_at > :now
          AND t.attempts < :most
        RETURNING t.user_id,
                  t.session_id,
                  t.subject,
                  CASE
                      WHEN :address::text IS NOT NULL
                           AND EXISTS (SELECT
                                       FROM basalt.desk_events e
                                       WHERE e.user_id = t.user_id
                                         AND e.action = 'sign_in'
                                         AND e.address = :address
                                         AND e.at > :known_since)
                      THEN (SELECT coalesce(sum(r.attempts), 0)::bigint
                            FROM basalt.desk_tickets r
                            WHERE r.user_id = t.user_id
                              AND r.created_at > :since
                              AND r.address = :address)
                      ELSE (SELECT coalesce(sum(r.attempts), 0)::bigint
                            FROM basalt.desk_tickets r
                            WHERE r.user_id = t.user_id
                              AND r.created_at > :since)
                  END AS recent";

    DELETE = "desk_tickets.delete": "
        DELETE FROM basalt.desk_tickets
        WHERE token_hash = :token_hash";
}

/// What a ticket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The code of a verified factor.
    Code,
    /// The first code of a new factor.
    Enrollment,
    /// A sign-in with a passkey.
    Passkey,
    /// A new passkey.
    Registration,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Enrollment => "enrollment",
            Self::Passkey => "passkey",
            Self::Registration => "registration",
        }
    }
}

/// A ticket to insert.
#[derive(Debug)]
pub(crate) struct NewTicket<'a> {
    pub token_hash: &'a [u8],
    pub purpose: Purpose,
    /// `user_id` and `session_id`.
    pub session: Option<AuthSession>,
    pub subject: Option<Uuid>,
    /// `address` of the client.
    pub address: Option<&'a str>,
    /// `created_at`.
    pub now: Time,
    pub expires_at: Time,
}

/// A ticket in use.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// `user_id` and `session_id`.
    pub session: Option<AuthSession>,
    pub subject: Option<Uuid>,
    /// The attempts with all tickets of the user before this one.
    pub recent_attempts: i64,
}

impl FromRow<'_, PgRow> for Ticket {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let user: Option<Uuid> = row.try_get("user_id")?;
        let session: Option<Uuid> = row.try_get("session_id")?;
        Ok(Self {
            session: user.zip(session).map(|(user_id, session_id)| AuthSession { user_id, session_id }),
            subject: row.try_get("subject")?,
            recent_attempts: row.try_get("recent")?,
        })
    }
}

/// The limits of the attempts with a ticket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptLimits<'a> {
    /// With one ticket.
    pub most: i32,
    /// The time since which attempts with other tickets of the user are counted.
    pub since: Time,
    /// The client's address, and the time since which a sign-in from it counts.
    pub address: Option<&'a str>,
    pub known_since: Time,
}

/// Stores a ticket.
pub(crate) async fn insert(db: &mut Connection, new: NewTicket<'_>) -> Result<()> {
    let NewTicket { token_hash, purpose, session, subject, address, now, expires_at } = new;
    let (user_id, session_id) = session.map(|session| (session.user_id, session.session_id)).unzip();
    let purpose = purpose.as_str();
    db.execute(bind!(INSERT, token_hash, purpose, user_id, session_id, subject, address, now, expires_at)).await?;
    Ok(())
}

/// Counts an attempt with a ticket of one of two purposes; `None` if it is unknown, expired or used up.
pub(crate) async fn record_use(
    db: &mut Connection,
    token_hash: &[u8],
    purposes: [Purpose; 2],
    limits: AttemptLimits<'_>,
    now: Time,
) -> Result<Option<Ticket>> {
    let [purpose, other_purpose] = purposes.map(Purpose::as_str);
    let AttemptLimits { most, since, address, known_since } = limits;
    let bound = bind!(USE, token_hash, purpose, other_purpose, now, most, since, address, known_since);
    db.fetch_optional(bound).await
}

/// Deletes a ticket; `false` if it is gone already.
pub(crate) async fn delete(db: &mut Connection, token_hash: &[u8]) -> Result<bool> {
    Ok(db.execute(bind!(DELETE, token_hash)).await? > 0)
}
