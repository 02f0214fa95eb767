//! The outcome of inserting a user.
//!
//! Triggers of the project may change the row or refuse it. What the database stored decides what follows, as in the
//! reference, which reads the row again.
//!
//! An address or number that a concurrent request stored first is an outcome, not an error.
//!
//! The reference inserts a user, then sets its role and confirms it by updates. One statement cannot update the row
//! that it inserts, so that triggers on updates would not see it. Where the project has such triggers, a statement that
//! inserts a user stores nothing (`has_update_triggers`), and [`insert_in_steps`](super::accounts::insert_in_steps)
//! follows. The statement asks the catalogue itself: it is right after every change, and the look-up takes no further
//! trip.

use gotrue_rules::domain::user::User;
use platform::store::{Error, Result};

use serde_json::{Map, Value};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::rows::UserRow;

/// The row of a statement that inserts a user.
#[derive(Debug)]
pub(super) struct InsertedRow {
    has_update_triggers: bool,
    /// `None` if nothing was stored.
    stored: Option<User>,
}

impl FromRow<'_, PgRow> for InsertedRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let is_stored = row.try_get::<Option<uuid::Uuid>, _>("id")?.is_some();
        let stored = if is_stored { Some(UserRow::from_row(row)?.0) } else { None };
        Ok(Self { has_update_triggers: row.try_get("has_update_triggers")?, stored })
    }
}

/// The unique constraints on the users' addresses and numbers.
const CONTACT_UNIQUE: [&str; 2] = ["users_email_partial_key", "users_phone_key"];

/// The outcome of inserting a user.
#[derive(Debug)]
#[must_use]
pub enum UserInsertion {
    /// The user was inserted; the row as it is stored.
    Written(Box<User>),
    /// Nothing was stored, because triggers on updates have to see the steps of the insert.
    NeedsSteps,
    /// Another user has the address or number. An open transaction is aborted.
    Conflict(Error),
}

impl UserInsertion {
    /// Converts the conflict to an error.
    ///
    /// # Errors
    /// Another user has the address or number.
    pub fn into_result(self) -> Result<User> {
        match self {
            Self::Written(stored) => Ok(*stored),
            Self::NeedsSteps => Err(Error::in_statement("users.insert", sqlx::Error::RowNotFound)),
            Self::Conflict(error) => Err(error),
        }
    }

    /// Separates a conflict over an address or number from other failures.
    ///
    /// `new` has what the statement does not return: identities. It also has `confirmed_at` as it was before the database
    /// computed it, which is what the reference shows of a user that the request confirms.
    ///
    /// # Errors
    /// A trigger refused the row, or the database failed.
    pub(super) fn from_insert(inserted: Result<InsertedRow>, new: &User) -> Result<Self> {
        match inserted {
            Ok(InsertedRow { has_update_triggers: true, .. }) => Ok(Self::NeedsSteps),
            Ok(InsertedRow { stored: Some(stored), .. }) => Ok(Self::Written(Box::new(with_shown_parts(stored, new)))),
            // A trigger returned NULL in place of the row.
            Ok(InsertedRow { stored: None, .. }) => Err(Error::in_statement("users.insert", sqlx::Error::RowNotFound)),
            Err(error) if error.constraint().is_some_and(|name| CONTACT_UNIQUE.contains(&name)) => {
                Ok(Self::Conflict(error))
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns a stored user with what responses show of a new one.
pub(super) fn with_shown_parts(stored: User, new: &User) -> User {
    let is_confirmed_here = new.email_confirmed_at.is_some() || new.phone_confirmed_at.is_some();
    let confirmed_at = if is_confirmed_here { new.confirmed_at } else { stored.confirmed_at };
    // The database orders members anew; those that no trigger changed stay as the request sent them.
    let in_order =
        |stored: Map<String, Value>, sent: &Map<String, Value>| if stored == *sent { sent.clone() } else { stored };
    User {
        identities: new.identities.clone(),
        confirmed_at,
        user_metadata: in_order(stored.user_metadata, &new.user_metadata),
        app_metadata: in_order(stored.app_metadata, &new.app_metadata),
        ..stored
    }
}
