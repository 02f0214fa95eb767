//! Messages that contain a token, sent and stored in the order of GoTrue.
//!
//! The order is: minimum interval, code, message, storage of the token hash. With synchronous delivery the request
//! waits for the mail server, and holds a connection only if the same transaction inserts the user. With an outbox the
//! e-mail is a row of that transaction.

pub mod decoys;
mod emails;
pub mod recipients;
mod row_ids;
mod sms;

use foundation::error::Result;
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::one_time_token::TokenHash;
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::sign_up::SignUpContact;
use gotrue_rules::domain::user::User;
use platform::journal::{Fact, FactCondition};
use platform::store::{Connection, OrInternalError};
use uuid::Uuid;

pub use self::emails::{
    ComposedEmail, OneTimeToken, TokenEmail, build_envelope, compose_email, issue_token, mail_language, note_email,
    redirect_target, require_email_allowed, send_before_write, send_within_write,
};
pub use self::row_ids::new_row_id;
pub use self::sms::{SentSms, SmsCode, SmsReason, TokenSms, deliver_code, require_provider_approval, send_sms};
use super::{explanations, pkce};
use crate::app::EmailDelivery;
use crate::request_context::RequestContext;
use crate::store::audit::AuditRow;
use crate::store::one_time_tokens::{NewOneTimeToken, issue};

/// A confirmation that was sent to an address or number. Its token is not stored yet.
#[derive(Debug)]
pub enum ContactConfirmation<'a> {
    /// By e-mail.
    Email(TokenEmail<'a>, Box<ComposedEmail>),
    /// By SMS.
    Sms(&'a str, SentSms),
}

/// Sends a new user the confirmation of an address or number.
pub async fn send_confirmation<'a>(
    cx: &RequestContext,
    user: &User,
    sign_up_contact: &'a SignUpContact,
    pkce: bool,
) -> Result<ContactConfirmation<'a>> {
    match &sign_up_contact.contact {
        Contact::Email(email) => {
            let email_message = TokenEmail { purpose: Purpose::SignUp, to: email.as_str(), pkce, new_email: None };
            Ok(ContactConfirmation::Email(email_message, Box::new(send_email(cx, user, email_message).await?)))
        }
        Contact::Phone(phone) => {
            let sms_message = TokenSms { purpose: Purpose::Sms, to: phone.as_str(), channel: &sign_up_contact.channel };
            Ok(ContactConfirmation::Sms(phone.as_str(), send_sms(cx, user, sms_message).await?))
        }
    }
}

impl ContactConfirmation<'_> {
    /// Stores the confirmation in the caller's transaction.
    pub async fn store(&self, cx: &RequestContext, db: &mut Connection, user: &User) -> Result<()> {
        let secret = match self {
            Self::Email(email_message, composed) => {
                send_within_write(cx, db, user, email_message.purpose, &[composed]).await?;
                SentToken::from_email(*email_message, composed)
            }
            Self::Sms(to, sent_sms) => {
                sent_sms.send_within_write(cx, db, user).await?;
                SentToken { purpose: Purpose::Sms, to, hash: &sent_sms.hash, row_id: new_row_id(cx) }
            }
        };
        store(cx, db, user, secret, Vec::new()).await
    }
}

/// Composes an e-mail and sends it if delivery is synchronous.
async fn send_email(cx: &RequestContext, user: &User, email_message: TokenEmail<'_>) -> Result<ComposedEmail> {
    require_email_allowed(cx, user, email_message.purpose, [email_message.to]).await?;
    let composed = compose_email(cx, user, email_message).await?;
    send_before_write(cx, user, email_message.purpose, &[&composed]).await?;
    Ok(composed)
}

/// Sends an e-mail to a user that the caller's transaction inserts.
///
/// An error leaves nothing of the user.
pub async fn send_to_new_user(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    email_message: TokenEmail<'_>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let composed = send_email(cx, user, email_message).await?;
    send_within_write(cx, db, user, email_message.purpose, &[&composed]).await?;
    store(cx, db, user, SentToken::from_email(email_message, &composed), audit).await
}

/// Sends an e-mail to an existing user.
///
/// No connection is held meanwhile, and nothing is stored if it fails.
pub async fn send_to_user(
    cx: &RequestContext,
    user: &User,
    email_message: TokenEmail<'_>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    send_to_user_in_flow(cx, user, email_message, None, audit).await
}

/// Sends an e-mail to an existing user and stores the client's PKCE challenge with the token.
pub async fn send_to_user_in_flow(
    cx: &RequestContext,
    user: &User,
    email_message: TokenEmail<'_>,
    flow: Option<&Challenge>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let composed = send_email(cx, user, email_message).await?;
    let mut db = if flow.is_some() { cx.begin().await? } else { begin_for_existing_user(cx).await? };
    if let Some(challenge) = flow {
        pkce::store_challenge(cx, &mut db, user.id, challenge, email_message.purpose).await?;
    }
    send_within_write(cx, &mut db, user, email_message.purpose, &[&composed]).await?;
    store(cx, &mut db, user, SentToken::from_email(email_message, &composed), audit).await?;
    Ok(db.commit().await?)
}

/// Sends an SMS to an existing user; returns the message id if the response contains one.
pub async fn send_sms_to_user(
    cx: &RequestContext,
    user: &User,
    sms_message: TokenSms<'_>,
    audit: Vec<AuditRow>,
) -> Result<Option<String>> {
    let sent_sms = send_sms(cx, user, sms_message).await?;
    let secret =
        SentToken { purpose: sms_message.purpose, to: sms_message.to, hash: &sent_sms.hash, row_id: new_row_id(cx) };
    let is_kept = cx.app.hooks.is_in_database(HookKind::SendSms);
    let mut db = if is_kept { cx.begin().await? } else { cx.db() };
    sent_sms.send_within_write(cx, &mut db, user).await?;
    store(cx, &mut db, user, secret, audit).await?;
    db.commit().await?;
    Ok(sent_sms.message_id)
}

/// Begins the transaction that inserts a user and sends a message to this contact.
///
/// If it waits for an external service, it counts as one of the limited waiting transactions.
pub async fn begin_for_contact(cx: &RequestContext, contact: &Contact) -> Result<Connection> {
    match contact {
        Contact::Email(_) => begin_for_email(cx).await,
        Contact::Phone(_) if cx.app.hooks.is_in_database(HookKind::SendSms) => Ok(cx.begin().await?),
        Contact::Phone(_) => Ok(cx.begin_external_wait().await?),
    }
}

/// Begins the transaction that inserts a user and sends an e-mail.
pub async fn begin_for_email(cx: &RequestContext) -> Result<Connection> {
    Ok(if is_email_transactional(cx) { cx.begin().await? } else { cx.begin_external_wait().await? })
}

/// Begins a transaction if sending an e-mail is a part of it, else returns a connection without one.
async fn begin_for_existing_user(cx: &RequestContext) -> Result<Connection> {
    Ok(if is_email_transactional(cx) { cx.begin().await? } else { cx.db() })
}

/// Whether e-mails are delivered within the transaction, without waiting for an external service.
fn is_email_transactional(cx: &RequestContext) -> bool {
    let hooks = &cx.app.hooks;
    match &cx.app.delivery {
        _ if hooks.is_enabled(HookKind::SendEmail) => hooks.is_in_database(HookKind::SendEmail),
        EmailDelivery::Outbox(_) => true,
        EmailDelivery::Synchronous(_) => false,
    }
}

/// A token to store after its message was sent.
#[derive(Debug, Clone, Copy)]
pub struct SentToken<'a> {
    /// What the token is for.
    pub purpose: Purpose,
    /// The recipient.
    pub to: &'a str,
    pub hash: &'a TokenHash,
    pub row_id: Uuid,
}

impl<'a> SentToken<'a> {
    fn from_email(email_message: TokenEmail<'a>, composed: &'a ComposedEmail) -> Self {
        let ComposedEmail { hash, row_id, .. } = composed;
        Self { purpose: email_message.purpose, to: email_message.to, hash, row_id: *row_id }
    }
}

/// Stores the token hash in the user's column and in `one_time_tokens`, with the audit rows.
pub async fn store(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    secret: SentToken<'_>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    cx.note(FactCondition::Statement, || Fact::SecretIssued {
        digest: explanations::digest_token(secret.hash),
        slot: format!("{} of {}", secret.purpose.token_kind().column(), user.id),
    });
    let issued = NewOneTimeToken {
        user_id: user.id,
        purpose: secret.purpose,
        hash: secret.hash.as_str(),
        relates_to: secret.to,
        id: secret.row_id,
        now: cx.now,
        audit,
    };
    issue(db, issued).await.or_internal_error("Database error updating user")
}
