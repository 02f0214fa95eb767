//! `basalt.desk_events`: what was done at the desk, and which sign-ins failed.

use foundation::time::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

statements! {
    INSERT = "desk_events.insert": "
        INSERT INTO basalt.desk_events (at, user_id, action, subject, address)
        VALUES (:at, :user_id, :action, :subject, :address)";

    /// An order is named by its number, a former owner by the address.
    #[repeatable]
    LIST = "desk_events.list": "
        SELECT e.id, e.at, u.email::text AS email, e.action, e.address,
               coalesce('#' || o.number, former.email::text, e.subject) AS subject
        FROM (SELECT *,
                     CASE WHEN subject ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN subject::uuid END AS subject_id
              FROM basalt.desk_events
              WHERE id < :before
              ORDER BY id DESC
              LIMIT :most) AS e
        LEFT JOIN users u ON u.id = e.user_id
        LEFT JOIN basalt.orders o ON o.id = e.subject_id
        LEFT JOIN users former ON former.id = e.subject_id
        ORDER BY e.id DESC";

    DELETE_OLD = "desk_events.delete_old": "
        DELETE FROM basalt.desk_events
        WHERE at < :before";
}

/// Something done at the desk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event<'a> {
    /// When.
    pub at: Time,
    /// The user, if it is known.
    pub user_id: Option<Uuid>,
    /// What, such as `sign_in`.
    pub action: &'a str,
    /// What was changed, or the address of a failed sign-in.
    pub subject: Option<&'a str>,
    /// The address of the client.
    pub address: Option<&'a str>,
}

/// An event as the desk shows it.
#[derive(Debug)]
pub(crate) struct ListedEvent {
    /// `id`, which ascends.
    pub id: i64,
    pub at: Time,
    /// The present address of the user, if it is known.
    pub email: Option<String>,
    pub action: String,
    /// What was changed, in words of the desk.
    pub subject: Option<String>,
    /// The address of the client.
    pub address: Option<String>,
}

impl FromRow<'_, PgRow> for ListedEvent {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            at: row.try_get("at")?,
            email: row.try_get("email")?,
            action: row.try_get("action")?,
            subject: row.try_get("subject")?,
            address: row.try_get("address")?,
        })
    }
}

/// Lists at most so many events from before one, the latest first.
pub(crate) async fn list(db: &mut Connection, before: i64, most: i64) -> Result<Vec<ListedEvent>> {
    db.fetch_all(bind!(LIST, before, most)).await
}

/// Stores an event.
pub(crate) async fn insert(db: &mut Connection, event: Event<'_>) -> Result<()> {
    let Event { at, user_id, action, subject, address } = event;
    db.execute(bind!(INSERT, at, user_id, action, subject, address)).await?;
    Ok(())
}

/// Deletes the events from before a time.
pub(crate) async fn delete_old(db: &mut Connection, before: Time) -> Result<()> {
    db.execute(bind!(DELETE_OLD, before)).await?;
    Ok(())
}
