//! `basalt.desk_events`: what was done at the desk, and which sign-ins failed.

use gotrue_rules::domain::user::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use uuid::Uuid;

statements! {
    INSERT = "desk_events.insert": "
        INSERT INTO basalt.desk_events (at, user_id, action, subject, address)
        VALUES (:at, :user_id, :action, :subject, :address)";

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
