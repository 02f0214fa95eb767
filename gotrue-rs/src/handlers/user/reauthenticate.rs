//! `GET /reauthenticate`: sends the nonce that `PUT /user` requires for a new password.

use std::sync::Arc;

use foundation::email::Email;
use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::contact::{Contact, Phone, SmsChannel};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::reauthentication::{ReauthenticationRecipient, select_recipient};
use gotrue_rules::wire::message::MessageSentJson;

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::messages::{TokenEmail, TokenSms, send_sms_to_user, send_to_user};
use crate::services::{audit, limits};

/// Sends the nonce.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let user = &caller.user;
    let purpose = Purpose::Reauthentication;
    let rows = audit::build_rows(&cx, user, [AuditEntry::new(AuditAction::UserReauthenticateRequested)]);
    let message_id = match select_recipient(user)? {
        ReauthenticationRecipient::Email(to) => {
            if let Ok(email) = Email::parse(to) {
                limits::count_user_message(&cx, &Contact::Email(email)).await?;
            }
            send_to_user(&cx, user, TokenEmail { purpose, to, pkce: false, new_email: None }, rows).await?;
            None
        }
        ReauthenticationRecipient::Phone(to) => {
            if let Ok(phone) = Phone::parse(to) {
                limits::count_user_message(&cx, &Contact::Phone(phone)).await?;
            }
            send_sms_to_user(&cx, user, TokenSms { purpose, to, channel: &SmsChannel::default() }, rows).await?
        }
    };
    Ok(Reply::json(&MessageSentJson { message_id }))
}
