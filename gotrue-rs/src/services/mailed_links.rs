//! Links of mails whose site has no page for them: what the pages of `basalt serve` need beside the API.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::one_time_token::{LinkToken, TokenHash};
use gotrue_rules::domain::purpose::{Purpose, VerificationType};
use gotrue_rules::domain::user::User;
use gotrue_rules::domain::verification::{
    PresentedToken, VerificationRequest, invalid_link, require_link_type, verify_link,
};
use platform::store::OrInternalError;

use super::limits::{self, LimitedRoute};
use super::messages::{SentToken, new_row_id, store};
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
