//! `/admin`: users, links, factors, providers and clients, as an administrator manages them.

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

use gotrue_rules::domain::admin_user::admin_actor;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::user::User;
use http::HeaderName;

use crate::request_context::{Admin, RequestContext};
use crate::services::audit as log;
use crate::store::audit::AuditRow;

/// The number of entries on all pages.
const TOTAL_COUNT_HEADER: HeaderName = HeaderName::from_static("x-total-count");

/// A query parameter; empty if it is absent.
fn query_parameter<'a>(cx: &'a RequestContext, name: &str) -> &'a str {
    cx.request.query(name).unwrap_or_default()
}

/// The audit log entry of an administrator's action on a user.
fn user_entry(action: AuditAction, user: &User) -> AuditEntry {
    AuditEntry::new(action)
        .with_trait("user_id", user.id.to_string())
        .with_trait("user_email", user.email.as_deref().unwrap_or_default())
        .with_trait("user_phone", user.phone.as_deref().unwrap_or_default())
}

/// Builds the audit row of an entry, with the administrator as the actor.
fn build_admin_rows(cx: &RequestContext, admin: &Admin, entry: AuditEntry) -> Vec<AuditRow> {
    log::build_rows(cx, &admin_actor(&admin.role), [entry])
}
