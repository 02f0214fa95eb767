//! Accounts as an administrator sees, makes and changes them, and ways into them that he gives.

pub mod audit;
pub mod create;
pub mod custom_providers;
pub mod delete;
pub mod factors;
pub mod generate_link;
pub mod invite;
pub mod list;
pub mod oauth_clients;
pub mod passkeys;
pub mod read;
pub mod sso;
pub mod update;

use gotrue_rules::domain::admin_user::actor;
use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::user::Account;
use http::HeaderName;

use crate::cx::Cx;
use crate::services::audit as log;
use crate::store::audit::AuditRow;

/// How many entries there are on all pages.
const TOTAL: HeaderName = HeaderName::from_static("x-total-count");

/// A member of the query; empty if it is not given.
fn asked<'a>(cx: &'a Cx, name: &str) -> &'a str {
    cx.request.query(name).unwrap_or_default()
}

/// What the log says of something done to an account by the administrator.
fn entry(action: Action, account: &Account) -> Entry {
    Entry::of(action)
        .with("user_id", account.id.to_string())
        .with("user_email", account.email.as_deref().unwrap_or_default())
        .with("user_phone", account.phone.as_deref().unwrap_or_default())
}

/// Its row, with the administrator as the actor.
fn told(cx: &Cx, entry: Entry) -> Result<Vec<AuditRow>> {
    Ok(log::rows(cx, &actor(&cx.admin()?.role), [entry]))
}
