//! Whether the bearer of a verified access token may still act, for services beside the auth API.

use std::sync::Arc;

use foundation::time::Time;
use gotrue_rules::domain::ban::{BannedAttempt, require_not_banned};
use gotrue_rules::domain::user::User;
use platform::journal::Journal;
use platform::store::{Connection, Result};
use uuid::Uuid;

use crate::app::App;
use crate::store::users;

/// Returns whether the user exists and is not banned, and the session, if the token names one, has not ended.
///
/// The same decision as that of `GET /user`, by one statement.
///
/// # Errors
/// The database does not answer.
pub async fn is_in_good_standing(
    app: &App,
    user_id: Uuid,
    session_id: Option<Uuid>,
    journal: Arc<Journal>,
    now: Time,
) -> Result<bool> {
    let mut db = Connection::pooled(app.pool.clone(), journal);
    let Some(found) = users::find_standing(&mut db, user_id, session_id).await? else { return Ok(false) };
    let user = User { banned_until: found.banned_until, ..User::default() };
    let is_admitted = require_not_banned(&user, BannedAttempt::Access, now).is_ok();
    Ok(is_admitted && (session_id.is_none() || found.has_session))
}
