//! `POST /resend`: sends a confirmation again.
//!
//! The response does not reveal whether the user exists or needs one.

use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::contact::{Contact, SmsChannel};
use gotrue_rules::domain::passwordless::{ResendType, validate_resend};
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::message::MessageSentJson;
use gotrue_rules::wire::requests::ResendRequest;
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::contact_change::{ContactKind, resend_confirmation};
use crate::services::messages::{TokenEmail, TokenSms, decoys, send_sms_to_user};
use crate::services::sign_up::repeat_confirmation;
use crate::services::{audit, limits, passwordless, pkce};

/// Sends the confirmation if it is pending.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let request = ResendRequest::decode(&cx.read_body().await?)?;
    let (again, contact) = validate_resend(&request, &cx.app.policy)?;
    let challenge = match again {
        ResendType::SignUp | ResendType::EmailChange => pkce::parse_challenge(&cx, &request.pkce)?,
        ResendType::Sms | ResendType::PhoneChange => Ok(None),
    };
    limits::count_public_message(&cx, &contact).await?;
    let found = passwordless::find_user(&cx, &contact).await.or_internal_error("Unable to process request")?;
    let Some(user) = found.filter(|user| again.is_pending(user)) else {
        imitate_resend(&cx, again, &contact, challenge.ok().flatten().as_ref()).await?;
        return Ok(Reply::json(&MessageSentJson::default()));
    };
    let challenge = challenge?;
    let message_id = match again {
        ResendType::SignUp => {
            repeat_confirmation(&cx, &user, contact.as_str(), challenge.as_ref()).await?;
            None
        }
        ResendType::Sms => send_sms_code(&cx, &user, &contact).await?,
        ResendType::EmailChange => resend_confirmation(&cx, user, ContactKind::Email, challenge).await?,
        ResendType::PhoneChange => resend_confirmation(&cx, user, ContactKind::Phone, challenge).await?,
    };
    Ok(Reply::json(&MessageSentJson { message_id }))
}

/// Does the same work for an address without a pending confirmation.
async fn imitate_resend(cx: &RequestContext, again: ResendType, to: &Contact, flow: Option<&Challenge>) -> Result<()> {
    let purpose = match again {
        ResendType::SignUp => Purpose::SignUp,
        ResendType::EmailChange => Purpose::EmailChange,
        ResendType::Sms | ResendType::PhoneChange => return Ok(()),
    };
    let new_email = (purpose == Purpose::EmailChange).then_some(to.as_str());
    let email_message = TokenEmail { purpose, to: to.as_str(), pkce: flow.is_some(), new_email };
    decoys::imitate_send(cx, email_message, flow).await
}

async fn send_sms_code(cx: &RequestContext, user: &User, to: &Contact) -> Result<Option<String>> {
    let rows = audit::build_rows(cx, user, [AuditEntry::new(AuditAction::UserRecoveryRequested)]);
    let text = TokenSms { purpose: Purpose::Sms, to: to.as_str(), channel: &SmsChannel::default() };
    send_sms_to_user(cx, user, text, rows).await
}
