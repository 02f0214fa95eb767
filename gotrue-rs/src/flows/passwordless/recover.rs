//! `POST /recover`: the way to a new password, by mail. Whether the address is known is not told.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::{Contact, Email};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::pkce::check_pair;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::wire::message::SentJson;
use gotrue_rules::wire::requests::Recover;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::messages::{Letter, ask, decoys};
use crate::services::{audit, limits, pkce};
use crate::store::{OrRefuse, users};

/// Mails a link and a code to the account of that address, if there is one.
pub async fn handle(cx: Cx) -> Result<Reply> {
    if !cx.app.policy.sign_up.email_enabled {
        return Err(Error::bad_request("email_provider_disabled", "Email logins are disabled"));
    }
    let request = Recover::decode(&cx.bytes().await?)?;
    if request.email.is_empty() {
        return Err(Error::invalid("Password recovery requires an email"));
    }
    let email = Email::parse(&request.email)?;
    check_pair(&request.pkce.challenge, &request.pkce.method)?;
    let challenge = pkce::asked_for(&cx, &request.pkce)?;
    let opens_flow = matches!(challenge, Ok(Some(_)));
    limits::anyone_asks(&cx, &Contact::Email(email.clone()))?;
    let found = users::by_email(&mut cx.db(), email.as_str(), &cx.audience()).await;
    let letter = Letter { purpose: Purpose::Recovery, to: email.as_str(), pkce: opens_flow, new_email: None };
    let Some(account) = found.or_refuse("Unable to process request")? else {
        if opens_flow {
            decoys::open_no_flow(&cx).await?;
        }
        decoys::ask_nobody(&cx, letter, None).await?;
        return Ok(Reply::json(&SentJson::default()));
    };
    if let Some(challenge) = &challenge? {
        // Stays, also if the mail is refused: as recorded.
        pkce::open(&cx, &mut cx.db(), account.id, challenge, Purpose::Recovery).await?;
    }
    let rows = audit::rows(&cx, &account, [Entry::of(Action::UserRecoveryRequested)]);
    ask(&cx, &account, letter, rows).await?;
    Ok(Reply::json(&SentJson::default()))
}
