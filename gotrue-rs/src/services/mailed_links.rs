//! Links of mails whose site has no page for them: what the pages of `basalt serve` need beside the API.

use foundation::email::Email;
use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::links::require_unconfirmed;
use gotrue_rules::domain::one_time_token::{LinkToken, TokenHash};
use gotrue_rules::domain::passwordless::{ResendType, email_logins_disabled, require_magic_links};
use gotrue_rules::domain::purpose::{Purpose, VerificationType};
use gotrue_rules::domain::user::User;
use gotrue_rules::domain::verification::{
    PresentedToken, VerificationRequest, invalid_link, require_link_type, verify_link,
};
use gotrue_rules::wire::requests::MagicLinkRequest;
use platform::store::OrInternalError;

use super::audit;
use super::contact_change::{ContactKind, resend_confirmation};
use super::limits::{self, LimitedRoute};
use super::links::send_invitation;
use super::messages::{SentToken, new_row_id, store};
use super::passwordless::{send_link, send_magic_link};
use super::sign_up::repeat_confirmation;
use crate::request_context::RequestContext;
use crate::store::one_time_tokens;

/// Finds the address to which a link was sent that is stored, whether it has expired or not.
///
/// # Errors
/// The link is malformed, there were too many requests, or the database fails.
pub async fn find_recipient(cx: &RequestContext, kind: &str, token: &str) -> Result<Option<String>> {
    let (kind, link) = parse(kind, token)?;
    let found = find_user(cx, kind, &link).await?;
    Ok(found.map(|user| {
        let is_new = kind == VerificationType::EmailChange && link.hash().matches_stored(&user.email_change_token_new);
        if is_new { user.email_change } else { user.email.unwrap_or_default() }
    }))
}

/// Sends the message of a stored link again, whether the link has expired or not; false if it is not stored.
///
/// Who presents the link has read the message, so that no captcha is asked for. The limits are those of the API that sends such
/// messages. An invitation is sent again to a user who has not followed one, another user gets a link for a new password.
///
/// # Errors
/// There were too many requests or messages, the operator has disabled the message, or the database fails.
pub async fn send_again(cx: &RequestContext, kind: &str, token: &str) -> Result<bool> {
    let Ok((kind, link)) = parse(kind, token) else { return Ok(false) };
    let route = match kind {
        VerificationType::SignUp | VerificationType::EmailChange => LimitedRoute::Resend,
        VerificationType::MagicLink | VerificationType::Email => LimitedRoute::Otp,
        _ => LimitedRoute::Recover,
    };
    limits::count_request(cx, route).await?;
    let Some(user) = find_user(cx, kind, &link).await? else { return Ok(false) };
    match kind.resolve_for_link(link.hash(), &user) {
        VerificationType::MagicLink => send_magic_link_again(cx, user).await?,
        VerificationType::Invite if require_unconfirmed(&user).is_ok() => {
            count_message(cx, user.email.as_deref()).await?;
            let entry = AuditEntry::new(AuditAction::UserConfirmationRequested);
            send_invitation(cx, &user, audit::build_rows(cx, &user, [entry])).await?;
        }
        kind => send_by_address(cx, kind, user).await?,
    }
    Ok(true)
}

async fn send_magic_link_again(cx: &RequestContext, user: User) -> Result<()> {
    require_magic_links(&cx.app.policy)?;
    let email = user.email.clone().unwrap_or_default();
    send_magic_link(cx, MagicLinkRequest { email, ..MagicLinkRequest::default() }, Some(user)).await
}

/// Sends the confirmation of an address if it is pending, or a link for a new password.
async fn send_by_address(cx: &RequestContext, kind: VerificationType, user: User) -> Result<()> {
    if !cx.app.policy.sign_up.email_enabled {
        return Err(email_logins_disabled());
    }
    let address = user.email.as_deref().filter(|address| !address.is_empty()).unwrap_or(&user.email_change);
    let email = count_message(cx, Some(address)).await?;
    match kind {
        VerificationType::SignUp if ResendType::SignUp.is_pending(&user) => {
            repeat_confirmation(cx, &user, email.as_str(), None).await
        }
        VerificationType::EmailChange if ResendType::EmailChange.is_pending(&user) => {
            resend_confirmation(cx, user, ContactKind::Email, None).await.map(drop)
        }
        VerificationType::SignUp | VerificationType::EmailChange => Ok(()),
        _ => send_link(cx, &user, Purpose::Recovery, &email, None).await,
    }
}

/// Counts a message that nobody signed in asks for.
async fn count_message(cx: &RequestContext, address: Option<&str>) -> Result<Email> {
    let email = Email::parse(address.unwrap_or_default())?;
    limits::count_public_message(cx, &Contact::Email(email.clone())).await?;
    Ok(email)
}

/// Replaces a valid link of the PKCE flow by a code, which the user enters where the flow began.
///
/// Only that browser can end the flow with the link. The code is verified as one of a mail is; the link has ended.
///
/// # Errors
/// The link is wrong, expired or used, there were too many requests, or the database fails.
pub async fn replace_by_code(cx: &RequestContext, kind: &str, token: &str) -> Result<String> {
    limits::count_request(cx, LimitedRoute::Verify).await?;
    let (kind, link) = parse(kind, token)?;
    let found = find_user(cx, kind, &link).await?;
    let kind = verify_link(Some(kind), link.hash(), found.as_ref(), &cx.app.policy, cx.now)?;
    let user = found.ok_or_else(invalid_link)?;
    let purpose = match kind {
        VerificationType::SignUp => Purpose::SignUp,
        VerificationType::Invite => Purpose::Invite,
        VerificationType::MagicLink => Purpose::MagicLink,
        VerificationType::Recovery => Purpose::Recovery,
        _ => return Err(invalid_link()),
    };
    let to = user.email.clone().ok_or_else(invalid_link)?;
    let code = cx.entropy.digits(cx.app.policy.mail.otp_length);
    let new = TokenHash::new(&to, &code);
    let mut db = cx.begin().await?;
    store(cx, &mut db, &user, SentToken { purpose, to: &to, hash: &new, row_id: new_row_id(cx) }, Vec::new()).await?;
    db.commit().await?;
    Ok(code)
}

fn parse(kind: &str, token: &str) -> Result<(VerificationType, LinkToken)> {
    let request = VerificationRequest::from_link(kind, token)?;
    let kind = require_link_type(request.verification_type)?;
    match request.token {
        PresentedToken::Link(link) => Ok((kind, link)),
        PresentedToken::Code(_) => Err(invalid_link()),
    }
}

async fn find_user(cx: &RequestContext, kind: VerificationType, link: &LinkToken) -> Result<Option<User>> {
    let found = one_time_tokens::find_user_by_link(&mut cx.db(), link, kind.token_kinds()).await;
    found.or_internal_error("Database error finding user from email link")
}
