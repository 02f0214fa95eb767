//! `POST /invite`: creates a user for an address and sends an invitation.
//!
//! No minimum interval applies; of several invitations only the last link is valid.

use std::sync::Arc;

use foundation::email::Email;
use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::links::{LinkPassword, require_unconfirmed};
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::requests::InviteRequest;
use gotrue_rules::wire::user::UserJson;
use platform::store::OrInternalError;

use super::build_admin_rows;
use crate::http::reply::Reply;
use crate::request_context::{Admin, RequestContext};
use crate::services::attempt::Attempt;
use crate::services::links::{self, LinkRecipient, build_user};
use crate::store::users;

/// Invites a new or an unconfirmed user and returns it.
pub async fn handle(cx: RequestContext, admin: Arc<Admin>) -> Result<Reply> {
    let request = InviteRequest::decode(&cx.read_body().await?)?;
    metadata::validate("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    let user = match try_invite(&cx, &admin, &request, None).await? {
        Attempt::Done(user) => user,
        Attempt::Conflict(error) => try_invite(&cx, &admin, &request, Some(error)).await?.into_result()?,
    };
    Ok(Reply::json(&UserJson::from(&user)))
}

/// Invites once.
///
/// `conflict` is the error of the previous attempt, returned if the address is still free.
async fn try_invite(
    cx: &RequestContext,
    admin: &Admin,
    request: &InviteRequest,
    conflict: Option<Error>,
) -> Result<Attempt<User>> {
    let email = Email::parse(&request.email)?;
    let known = users::find_by_email(&mut cx.db(), email.as_str(), &cx.audience()).await;
    let recipient = match (known.or_internal_error("Database error finding user")?, conflict) {
        (Some(known), _) => {
            require_unconfirmed(&known)?;
            LinkRecipient::Existing(Box::new(known))
        }
        (None, Some(error)) => return Err(error),
        (None, None) => {
            LinkRecipient::New(Box::new(build_user(cx, email, request.data.clone(), LinkPassword::None).await?))
        }
    };
    let audit = build_admin_rows(cx, admin, invitation_entry(&recipient));
    links::invite(cx, recipient, audit).await
}

/// The audit log entry of an invitation.
pub(super) fn invitation_entry(recipient: &LinkRecipient) -> AuditEntry {
    let (LinkRecipient::Existing(user) | LinkRecipient::New(user)) = recipient;
    let User { id, email, .. } = user.as_ref();
    AuditEntry::new(AuditAction::UserInvited)
        .with_trait("user_id", id.to_string())
        .with_trait("user_email", email.as_deref().unwrap_or_default())
}
