//! `PUT /admin/users/{id}`: updates a user in two statements, the guard's and the write.
//!
//! No connection is held while the password is hashed, and the user is not notified.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::admin_user::{AdminUserChange, parse_change, user_not_found, validate_lengths};
use gotrue_rules::domain::audit::AuditAction;
use gotrue_rules::domain::identity::identity_for_first_password;
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::user::{Identity, User};
use gotrue_rules::wire::requests::AdminUserRequest;
use gotrue_rules::wire::user::UserJson;
use platform::store::OrInternalError;

use super::{build_admin_rows, user_entry};
use crate::http::reply::Reply;
use crate::request_context::{Admin, RequestContext};
use crate::services::passwords::{self, AfterDisconnect};
use crate::store::admin::{self, AdminUserUpdate};

/// The identity that a first password adds, where the policy enables it.
fn first_password_identity(
    cx: &RequestContext,
    change: &AdminUserChange,
    before: &User,
    identities: &[Identity],
) -> Option<Identity> {
    let is_enabled = cx.app.policy.experimental.create_email_identity_on_password_set;
    change.encrypted_password.as_ref().filter(|_| is_enabled)?;
    let after = change.apply_to(before.clone(), identities.to_vec(), cx.now);
    identity_for_first_password(before, &after, cx.entropy.uuid(), cx.now)
}

/// Updates the user and returns it.
pub async fn handle(cx: RequestContext, admin: Arc<Admin>, user: Arc<User>) -> Result<Reply> {
    let request = AdminUserRequest::decode(&cx.read_body().await?)?;
    validate_lengths(&request)?;
    let limits = cx.app.policy.api.metadata_limits;
    metadata::validate_update("user_metadata", &user.user_metadata, request.user_metadata.as_ref(), limits)?;
    metadata::validate_update("app_metadata", &user.app_metadata, request.app_metadata.as_ref(), limits)?;
    let mut change = parse_change(&request, cx.now)?;
    if let Some(password) = &request.password {
        passwords::require_strong(&cx, password).await?;
        change.encrypted_password = Some(passwords::hash(&cx, user.id, password, AfterDisconnect::Complete).await?);
    }
    let mut identities = change.build_identities(user.id, [cx.entropy.uuid(), cx.entropy.uuid()], cx.now);
    if let Some(identity) = first_password_identity(&cx, &change, &user, &identities) {
        let mut after = change.apply_to(User::clone(&user), identities.clone(), cx.now);
        after.identities.push(identity.clone());
        identities.push(identity);
        change.merge_providers(&after);
    }
    let after = change.apply_to(User::clone(&user), identities.clone(), cx.now);
    let audit = build_admin_rows(&cx, &admin, user_entry(AuditAction::UserModified, &after));
    let update = AdminUserUpdate { change: &change, after: &after, identities: &identities, now: cx.now, audit };
    let is_there = admin::update(&mut cx.db(), update).await.or_internal_error("Error updating user")?;
    if !is_there {
        return Err(user_not_found());
    }
    Ok(Reply::json(&UserJson::from(&after)))
}
