//! E-mails that contain a token: minimum interval, quota, code, link, rendering and delivery.

use std::borrow::Cow;

use foundation::error::{Error, ErrorCode, Result};
use foundation::error_chain::ErrorChain;
use foundation::language::Language;
use futures::future::try_join_all;
use gotrue_rules::domain::one_time_token::{LinkToken, TokenHash, seconds_to_wait};
use gotrue_rules::domain::policy::{HookKind, MailKind};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::redirect::RedirectRequest;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::hook::EmailData;
use platform::journal::{Fact, FactCondition, Step};
use platform::mail::EmailMessage;
use platform::mail::plain::to_plain_text;
use platform::store::{Connection, OrInternalError};
use uuid::Uuid;

use super::recipients::{self, UndeliverableAddress};
use super::row_ids::new_row_id;
use crate::app::EmailDelivery;
use crate::ports::mail::template::{RenderedMail, TemplateVariables};
use crate::ports::mail::{link, message_type};
use crate::request_context::RequestContext;
use crate::services::{hooks, limits};
use crate::store::hooks::HookTransaction;

/// An e-mail to compose.
#[derive(Debug, Clone, Copy)]
pub struct TokenEmail<'a> {
    /// What the e-mail is for.
    pub purpose: Purpose,
    /// The recipient's address, in lower case.
    pub to: &'a str,
    /// Whether the link ends in an authorization code (PKCE).
    pub pkce: bool,
    /// The new address of the user, for an e-mail change.
    pub new_email: Option<&'a str>,
}

/// A composed e-mail with the hash of its token.
#[derive(Debug)]
pub struct ComposedEmail {
    /// `None` if the operator's hook sends the e-mail.
    pub(super) message: Option<EmailMessage>,
    code: String,
    link_token: String,
    /// The token hash to store.
    pub hash: TokenHash,
    /// The id of the row to store.
    pub row_id: Uuid,
}

/// A new one-time token, sent in an e-mail or returned to an administrator.
pub struct OneTimeToken {
    pub code: String,
    /// The token hash to store.
    pub hash: TokenHash,
    /// The id of the row to store.
    pub row_id: Uuid,
    pub link_token: String,
    /// The link with the token; `None` for purposes that have only a code.
    pub link: Option<String>,
    /// The redirect target of the link.
    pub redirect_to: String,
}

/// Prints no secret.
impl std::fmt::Debug for OneTimeToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OneTimeToken").finish_non_exhaustive()
    }
}

/// Checks that an e-mail of this purpose may be sent to all these addresses, and counts it.
///
/// # Errors
///
/// 429 if the previous one is too recent or the quota is used up; 400 if an address is not on the operator's list.
pub async fn require_email_allowed<'a>(
    cx: &RequestContext,
    user: &User,
    purpose: Purpose,
    to: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    let gap = cx.app.policy.mail.max_frequency;
    let sent_at = purpose.token_kind().sent_at(user).filter(|_| purpose.has_minimum_interval());
    if let Some(seconds) = seconds_to_wait(sent_at, gap, cx.now) {
        return Err(limits::too_soon_error(cx, ErrorCode::OverEmailSendRateLimit, seconds));
    }
    recipients::require_authorized(cx, to)?;
    limits::count_email(cx).await
}

/// Issues a new token for this e-mail.
pub fn issue_token(cx: &RequestContext, email_message: TokenEmail<'_>, redirect_to: String) -> OneTimeToken {
    let code = cx.entropy.digits(cx.app.policy.mail.otp_length);
    let hash = TokenHash::new(email_message.to, &code).with_pkce(email_message.pkce);
    let row_id = new_row_id(cx);
    let link_token = LinkToken::new(hash.clone(), row_id).format();
    let kind = email_message.purpose.mail_kind();
    let link = kind.and_then(|kind| verification_link(cx, kind, &link_token, &redirect_to));
    OneTimeToken { code, hash, row_id, link_token, link, redirect_to }
}

/// Composes an e-mail with a new token. If the operator's hook sends e-mails, only the token is issued.
pub async fn compose_email(cx: &RequestContext, user: &User, email_message: TokenEmail<'_>) -> Result<ComposedEmail> {
    let token = issue_token(cx, email_message, redirect_target(cx));
    let is_ours = !cx.app.hooks.is_enabled(HookKind::SendEmail);
    let message = if is_ours { Some(render_email(cx, user, email_message, &token).await?) } else { None };
    let OneTimeToken { code, hash, row_id, link_token, .. } = token;
    Ok(ComposedEmail { message, code, link_token, hash, row_id })
}

async fn render_email(
    cx: &RequestContext,
    user: &User,
    email_message: TokenEmail<'_>,
    token: &OneTimeToken,
) -> Result<EmailMessage> {
    let failed = || Error::internal(email_message.purpose.delivery_error_message());
    let kind = email_message.purpose.mail_kind().ok_or_else(failed)?;
    let is_linked = link::find_type_and_path(kind, &cx.app.policy.mail.paths).is_some();
    let variables = TemplateVariables {
        language: mail_language(cx, user),
        email: user.email.as_deref().unwrap_or_default(),
        data: Some(&user.user_metadata),
        confirmation_url: token.link.as_deref(),
        token: Some(&token.code),
        token_hash: is_linked.then_some(token.link_token.as_str()),
        redirect_to: is_linked.then_some(token.redirect_to.as_str()),
        new_email: email_message.new_email,
        sending_to: email_message.new_email.map(|_| email_message.to),
        ..TemplateVariables::default()
    };
    let rendered =
        cx.app.email_templates.render(kind, &variables, cx.now).await.map_err(|cause| failed().with_cause(cause))?;
    Ok(EmailMessage {
        code: Some(token.code.clone()),
        link: token.link.clone(),
        ..build_envelope(cx, kind, email_message.to, rendered)
    })
}

/// Returns the language of built-in texts for this user.
pub fn mail_language(cx: &RequestContext, user: &User) -> Language {
    Language::of_user(&user.user_metadata, cx.request.header("accept-language"))
}

/// Builds an e-mail of this kind, without code and link.
pub fn build_envelope(cx: &RequestContext, kind: MailKind, to: &str, rendered: RenderedMail) -> EmailMessage {
    let text = cx.app.policy.mail.has_plain_text_part.then(|| to_plain_text(&rendered.html));
    EmailMessage {
        purpose: Cow::Borrowed(message_type(kind)),
        to: to.to_owned(),
        subject: rendered.subject,
        html: rendered.html,
        text,
        message_id: format!("{}@{}", cx.entropy.uuid(), cx.app.mail_host),
        date: cx.now,
        headers: Vec::new(),
        code: None,
        link: None,
    }
}

/// The redirect target of this request's links.
pub fn redirect_target(cx: &RequestContext) -> String {
    let candidates = RedirectRequest {
        header: cx.request.header("redirect_to").unwrap_or_default(),
        parameter: cx.request.query("redirect_to").unwrap_or_default(),
        referer: cx.request.header("referer").unwrap_or_default(),
    };
    cx.app.redirect_allow_list.select_target(candidates)
}

fn verification_link(cx: &RequestContext, kind: MailKind, token: &str, redirect_to: &str) -> Option<String> {
    let (wire_type, path) = link::find_type_and_path(kind, &cx.app.policy.mail.paths)?;
    let query = link::LinkParameters { token, kind: wire_type, redirect_to };
    link::build_link(&cx.external_url(), path, query)
}

/// Sends e-mails before the write, if delivery is synchronous.
///
/// It checks the addresses, then calls the mail server or an HTTP hook. `all` are its e-mails: one, or for a change
/// that two addresses confirm, the one to the new and the one to the current address. With background sending, failures
/// are only logged.
pub async fn send_before_write(
    cx: &RequestContext,
    user: &User,
    purpose: Purpose,
    all: &[&ComposedEmail],
) -> Result<()> {
    let hooks = &cx.app.hooks;
    if hooks.is_in_database(HookKind::SendEmail) {
        return Ok(());
    }
    if hooks.is_enabled(HookKind::SendEmail) {
        return send_by_hook(cx, HookTransaction::None(&mut cx.db().with_long_statements()), user, purpose, all).await;
    }
    match send_by_mailer(cx, user, purpose, all).await {
        Err(error) if cx.app.policy.mail.background_sending => {
            tracing::warn!(error = %ErrorChain(&error), "e-mail not sent");
            Ok(())
        }
        sent => sent,
    }
}

async fn send_by_mailer(cx: &RequestContext, user: &User, purpose: Purpose, all: &[&ComposedEmail]) -> Result<()> {
    let failed = || Error::internal(purpose.delivery_error_message());
    let messages: Vec<&EmailMessage> = all.iter().filter_map(|composed| composed.message.as_ref()).collect();
    let checked = recipients::check_deliverable(cx, messages.iter().map(|message| message.to.as_str())).await;
    checked.map_err(|unreadable| match unreadable {
        UndeliverableAddress::Invalid => recipients::invalid_address_error(user),
        UndeliverableAddress::Blocked => failed().with_cause(unreadable),
    })?;
    let EmailDelivery::Synchronous(mailer) = &cx.app.delivery else { return Ok(()) };
    let sending = messages.iter().map(|message| {
        cx.journal.record(Step::Call("mail.send"));
        mailer.send(message)
    });
    try_join_all(sending).await.map_err(|cause| failed().with_cause(cause))?;
    for message in messages {
        note_email(cx, message, FactCondition::Now);
    }
    Ok(())
}

/// Notes an e-mail for explanations and events, without its content.
pub fn note_email(cx: &RequestContext, message: &EmailMessage, condition: FactCondition) {
    cx.note(condition, || Fact::Message {
        channel: "email",
        kind: message.purpose.clone(),
        to: message.to.clone(),
        subject: Some(message.subject.clone()),
    });
}

/// Passes e-mails to the outbox or to a database function, inside the write.
pub async fn send_within_write(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    purpose: Purpose,
    all: &[&ComposedEmail],
) -> Result<()> {
    if cx.app.hooks.is_in_database(HookKind::SendEmail) {
        return send_by_hook(cx, HookTransaction::Current(db), user, purpose, all).await;
    }
    let EmailDelivery::Outbox(outbox) = &cx.app.delivery else { return Ok(()) };
    for message in all.iter().filter_map(|composed| composed.message.as_ref()) {
        note_email(cx, message, FactCondition::Statement);
        outbox.enqueue(db, message).await.or_internal_error("Error sending email")?;
    }
    Ok(())
}

async fn send_by_hook(
    cx: &RequestContext,
    within: HookTransaction<'_>,
    user: &User,
    purpose: Purpose,
    all: &[&ComposedEmail],
) -> Result<()> {
    let (redirect_to, site_url) = (redirect_target(cx), cx.external_url());
    let [first, rest @ ..] = all else { return Ok(()) };
    let mail = EmailData {
        token: &first.code,
        token_hash: &first.link_token,
        redirect_to: &redirect_to,
        email_action_type: purpose.link_type(),
        site_url: &site_url,
        ..EmailData::default()
    };
    let mail = match rest {
        [] => mail,
        [current, ..] => {
            EmailData { token: &current.code, token_new: &first.code, token_hash_new: &current.link_token, ..mail }
        }
    };
    hooks::send_email(cx, within, user, mail).await
}
