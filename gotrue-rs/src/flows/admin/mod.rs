//! Accounts as an administrator sees, makes and changes them, and ways into them that he gives.

pub mod create;
pub mod delete;
pub mod generate_link;
pub mod invite;
pub mod list;
pub mod read;
pub mod update;

use gotrue_rules::domain::admin_user::actor;
use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::user::Account;

use crate::cx::Cx;
use crate::services::audit;
use crate::store::audit::AuditRow;

/// What the log says of something done to an account by the administrator.
fn entry(action: Action, account: &Account) -> Entry {
    Entry::of(action)
        .with("user_id", account.id.to_string())
        .with("user_email", account.email.as_deref().unwrap_or_default())
        .with("user_phone", account.phone.as_deref().unwrap_or_default())
}

/// Its row, with the administrator as the actor.
fn told(cx: &Cx, entry: Entry) -> Result<Vec<AuditRow>> {
    Ok(audit::rows(cx, &actor(&cx.admin()?.role), [entry]))
}
