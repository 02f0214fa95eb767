//! Users that a test environment has created in bulk.

use gotrue_rules::domain::user::User;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

use super::rows::{UserRow, account_columns};

statements! {
    #[repeatable]
    LIST_BY_IDS = "preset_users.list_by_ids":
        concat!("SELECT ", account_columns!(), " FROM users u WHERE u.id = ANY(:ids)");
}

/// Returns the users with these ids, in any order.
pub async fn list_by_ids(db: &mut Connection, ids: &[Uuid]) -> Result<Vec<User>> {
    let rows: Vec<UserRow> = db.fetch_all(bind!(LIST_BY_IDS, ids)).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}
