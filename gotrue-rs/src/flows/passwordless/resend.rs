//! `POST /resend`: a confirmation once more. Whether the account is known, or waits for one, is not told.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::{Channel, Contact};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::passwordless::{Again, resend};
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::message::SentJson;
use gotrue_rules::wire::requests::Resend;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::contact_change::{Change, ask_again};
use crate::services::messages::{Letter, Text, ask_by_text, ask_in_flow, decoys};
use crate::services::{audit, limits, passwordless, pkce};
use crate::store::OrRefuse;

/// Sends it, if it is awaited.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = Resend::decode(&cx.bytes().await?)?;
    let (again, contact) = resend(&request, &cx.app.policy)?;
    let challenge = match again {
        Again::SignUp | Again::EmailChange => pkce::asked_for(&cx, &request.pkce)?,
        Again::Sms | Again::PhoneChange => Ok(None),
    };
    limits::anyone_asks(&cx, &contact)?;
    let found = passwordless::find(&cx, &contact).await.or_refuse("Unable to process request")?;
    let Some(account) = found.filter(|account| again.is_awaited(account)) else {
        not_awaited(&cx, again, &contact, challenge.ok().flatten().as_ref()).await?;
        return Ok(Reply::json(&SentJson::default()));
    };
    let challenge = challenge?;
    let message_id = match again {
        Again::SignUp => confirmation(&cx, &account, &contact, challenge.as_ref()).await?,
        Again::Sms => code(&cx, &account, &contact).await?,
        Again::EmailChange => ask_again(&cx, account, Change::Email, challenge).await?,
        Again::PhoneChange => ask_again(&cx, account, Change::Phone, challenge).await?,
    };
    Ok(Reply::json(&SentJson { message_id }))
}

/// The same work for an address that awaits nothing.
async fn not_awaited(cx: &Cx, again: Again, to: &Contact, flow: Option<&Challenge>) -> Result<()> {
    let purpose = match again {
        Again::SignUp => Purpose::SignUp,
        Again::EmailChange => Purpose::EmailChange,
        Again::Sms | Again::PhoneChange => return Ok(()),
    };
    let new_email = (purpose == Purpose::EmailChange).then_some(to.as_str());
    let letter = Letter { purpose, to: to.as_str(), pkce: flow.is_some(), new_email };
    decoys::ask_nobody(cx, letter, flow).await
}

async fn confirmation(cx: &Cx, account: &Account, to: &Contact, flow: Option<&Challenge>) -> Result<Option<String>> {
    let rows = audit::rows(cx, account, [Entry::of(Action::UserConfirmationRequested)]);
    let letter = Letter { purpose: Purpose::SignUp, to: to.as_str(), pkce: flow.is_some(), new_email: None };
    ask_in_flow(cx, account, letter, flow, rows).await?;
    Ok(None)
}

async fn code(cx: &Cx, account: &Account, to: &Contact) -> Result<Option<String>> {
    let rows = audit::rows(cx, account, [Entry::of(Action::UserRecoveryRequested)]);
    let text = Text { purpose: Purpose::Sms, to: to.as_str(), channel: &Channel::default() };
    ask_by_text(cx, account, text, rows).await
}
