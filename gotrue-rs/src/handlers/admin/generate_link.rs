//! `POST /admin/generate_link`: generates a link that the administrator passes on.
//!
//! Nothing is sent, and no minimum interval applies.

use std::sync::Arc;

use foundation::email::Email;
use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::links::{GenerateLinkDecision, LinkType, decide};
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::User;
use gotrue_rules::domain::user_update::email_taken;
use gotrue_rules::wire::link::{GeneratedLink, LinkJson};
use gotrue_rules::wire::requests::GenerateLinkRequest;
use platform::store::OrInternalError;

use super::{build_admin_rows, invite};
use crate::http::reply::Reply;
use crate::request_context::{Admin, RequestContext};
use crate::services::attempt::Attempt;
use crate::services::audit;
use crate::services::links::{IssuedLink, LinkRecipient, LinkRequest, build_user, generate_link};
use crate::store::audit::AuditRow;
use crate::store::users;

/// Returns the user with a link and a code.
pub async fn handle(cx: RequestContext, admin: Arc<Admin>) -> Result<Reply> {
    let request = GenerateLinkRequest::decode(&cx.read_body().await?)?;
    metadata::validate("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    let (kind, made) = match try_generate(&cx, &admin, &request, None).await? {
        Attempt::Done(made) => made,
        Attempt::Conflict(error) => try_generate(&cx, &admin, &request, Some(error)).await?.into_result()?,
    };
    let generated_link = GeneratedLink {
        link: made.token.link.as_deref().unwrap_or_default(),
        code: &made.token.code,
        hash: &made.own_link_token,
        link_type: kind,
        redirect_to: &made.token.redirect_to,
    };
    Ok(Reply::json(&LinkJson::new(&made.user, generated_link)))
}

/// Generates a link once.
///
/// `conflict` is the error of the previous attempt, returned if the address is still free.
async fn try_generate(
    cx: &RequestContext,
    admin: &Admin,
    request: &GenerateLinkRequest,
    conflict: Option<Error>,
) -> Result<Attempt<(LinkType, IssuedLink)>> {
    let email = Email::parse(&request.email)?;
    let known = users::find_by_email(&mut cx.db(), email.as_str(), &cx.audience()).await;
    let known = known.or_internal_error("Database error finding user")?;
    let (kind, recipient) = match (decide(&request.kind, &request.password, known, &cx.app.policy)?, conflict) {
        (GenerateLinkDecision::ExistingUser(kind, known), _) => (kind, LinkRecipient::Existing(known)),
        (GenerateLinkDecision::NewUser(..), Some(error)) => return Err(error),
        (GenerateLinkDecision::NewUser(kind, password), None) => {
            (kind, LinkRecipient::New(Box::new(build_user(cx, email, request.data.clone(), password).await?)))
        }
    };
    let new_email = new_email(cx, kind, &recipient, &request.new_email).await?;
    let link_request = LinkRequest {
        kind,
        new_email: new_email.as_ref(),
        redirect_to: &request.redirect_to,
        // An invitation leaves the metadata of an account that waits as it is.
        data: request.data.as_ref().filter(|_| kind == LinkType::SignUp),
        audit: audit_rows(cx, admin, kind, &recipient),
    };
    Ok(match generate_link(cx, recipient, link_request).await? {
        Attempt::Done(link) => Attempt::Done((kind, link)),
        Attempt::Conflict(error) => Attempt::Conflict(error),
    })
}

/// The new address of an e-mail change, valid and not in use; `None` for other types.
async fn new_email(
    cx: &RequestContext,
    kind: LinkType,
    recipient: &LinkRecipient,
    requested: &str,
) -> Result<Option<Email>> {
    let LinkRecipient::Existing(user) = recipient else { return Ok(None) };
    if kind.purpose() != Purpose::EmailChange {
        return Ok(None);
    }
    let new = Email::parse(requested)?;
    let own_domain_providers: Vec<String> =
        cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
    let taken = users::is_email_taken(&mut cx.db(), new.as_str(), &user.aud, &own_domain_providers, user.id).await;
    if taken.or_internal_error("Database error checking email")? || user.email.as_deref() == Some(new.as_str()) {
        return Err(email_taken());
    }
    Ok(Some(new))
}

/// The audit rows of a generated link.
///
/// An invitation counts as an action of the administrator, other types as one of the user.
fn audit_rows(cx: &RequestContext, admin: &Admin, kind: LinkType, recipient: &LinkRecipient) -> Vec<AuditRow> {
    let (LinkRecipient::Existing(user) | LinkRecipient::New(user)) = recipient;
    match kind.purpose() {
        Purpose::Invite => build_admin_rows(cx, admin, invite::invitation_entry(recipient)),
        Purpose::MagicLink | Purpose::Recovery => recovery_audit_rows(cx, user),
        _ => Vec::new(),
    }
}

fn recovery_audit_rows(cx: &RequestContext, user: &User) -> Vec<AuditRow> {
    audit::build_rows(cx, user, [AuditEntry::new(AuditAction::UserRecoveryRequested)])
}
