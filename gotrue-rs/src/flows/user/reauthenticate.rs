//! `GET /reauthenticate`: a code to the account's address or number, which `PUT /user` asks for before a new password.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::{Channel, Contact, Email, Phone};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::reauthentication::{Recipient, recipient};
use gotrue_rules::wire::message::SentJson;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::messages::{Letter, Text, ask, ask_by_text};
use crate::services::{audit, limits};

/// Sends a code.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let account = &cx.caller()?.account;
    let purpose = Purpose::Reauthentication;
    let rows = audit::rows(&cx, account, [Entry::of(Action::UserReauthenticateRequested)]);
    let message_id = match recipient(account)? {
        Recipient::Email(to) => {
            if let Ok(email) = Email::parse(to) {
                limits::member_asks(&cx, &Contact::Email(email))?;
            }
            ask(&cx, account, Letter { purpose, to, pkce: false, new_email: None }, rows).await?;
            None
        }
        Recipient::Phone(to) => {
            if let Ok(phone) = Phone::parse(to) {
                limits::member_asks(&cx, &Contact::Phone(phone))?;
            }
            ask_by_text(&cx, account, Text { purpose, to, channel: &Channel::default() }, rows).await?
        }
    };
    Ok(Reply::json(&SentJson { message_id }))
}
