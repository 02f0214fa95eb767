//! Messages with a secret in them: the gap, the code, the letter, the two homes of the hash, in the order in which the
//! reference does it. With an outbox the letter is a row of the caller's transaction; without, it is sent within it.

use std::borrow::Cow;

use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::one_time_token::{TokenHash, seconds_to_wait};
use gotrue_rules::domain::policy::MailKind;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::redirect::Asked;
use gotrue_rules::domain::sign_up::Newcomer;
use gotrue_rules::domain::user::{Account, Time};

use crate::app::Delivery;
use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::mail::template::Variables;
use crate::ports::mail::{Message, link, purpose_of};
use crate::services::limits;
use crate::store::one_time_tokens::{Issued, issue};
use crate::store::{Connection, OrRefuse};

/// Asks a newcomer to confirm an address or number; answers when that was sent.
pub async fn confirm_contact(
    cx: &Cx,
    db: &mut Connection,
    account: &Account,
    newcomer: &Newcomer,
    pkce: bool,
) -> Result<Time> {
    match &newcomer.contact {
        Contact::Email(email) => {
            mail(cx, db, account, Letter { purpose: Purpose::SignUp, to: email.as_str(), pkce }).await
        }
        Contact::Phone(phone) => text(cx, db, account, Purpose::Sms, phone.as_str()).await,
    }
}

/// A mail to be written.
#[derive(Debug, Clone, Copy)]
pub struct Letter<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// The address, lower case.
    pub to: &'a str,
    /// Whether its link ends in a code (PKCE).
    pub pkce: bool,
}

/// Mails a code and a link, and stores their hash.
pub async fn mail(cx: &Cx, db: &mut Connection, account: &Account, letter: Letter<'_>) -> Result<Time> {
    let policy = &cx.app.policy.mail;
    let slot = letter.purpose.slot();
    if let Some(seconds) = seconds_to_wait(slot.sent_at(account), policy.max_frequency, cx.now) {
        return Err(too_soon("over_email_send_rate_limit", seconds));
    }
    limits::take_mail(cx)?;
    let code = cx.entropy.digits(policy.otp_length);
    let hash = TokenHash::of(letter.to, &code).for_flow(letter.pkce);
    let message = write(cx, account, letter, &code, &hash).await?;
    deliver(cx, db, &message, letter.purpose).await?;
    store(cx, db, account, letter, &hash).await?;
    Ok(cx.now)
}

/// Texts a code and stores its hash.
async fn text(cx: &Cx, db: &mut Connection, account: &Account, purpose: Purpose, to: &str) -> Result<Time> {
    let policy = &cx.app.policy.sms;
    if let Some(seconds) = seconds_to_wait(purpose.slot().sent_at(account), policy.max_frequency, cx.now) {
        return Err(too_soon("over_sms_send_rate_limit", seconds));
    }
    // A number of the operator's test list gets its fixed code, and nothing is sent.
    let code = policy.test_code(to, cx.now).ok_or_else(|| Error::internal("Unable to get SMS provider"))?;
    let hash = TokenHash::of(to, code);
    store(cx, db, account, Letter { purpose, to, pkce: false }, &hash).await?;
    Ok(cx.now)
}

fn too_soon(code: &'static str, seconds: i64) -> Error {
    Error::too_many(code, format!("For security purposes, you can only request this after {seconds} seconds."))
}

async fn write(cx: &Cx, account: &Account, letter: Letter<'_>, code: &str, hash: &TokenHash) -> Result<Message> {
    let failed = || Error::internal(letter.purpose.sending_failed());
    let kind = letter.purpose.mail().ok_or_else(failed)?;
    let redirect_to = redirect_target(cx);
    let link = link_of(cx, kind, hash, &redirect_to);
    let variables = Variables {
        email: account.email.as_deref().unwrap_or_default(),
        data: Some(&account.user_metadata),
        confirmation_url: link.as_deref(),
        token: Some(code),
        token_hash: Some(hash.as_str()),
        redirect_to: Some(&redirect_to),
        ..Variables::default()
    };
    let rendered = cx.app.letters.render(kind, &variables, cx.now).await.map_err(|cause| failed().because(cause))?;
    Ok(Message {
        purpose: Cow::Borrowed(purpose_of(kind)),
        to: letter.to.to_owned(),
        subject: rendered.subject,
        html: rendered.html,
        text: None,
        message_id: format!("{}@{}", cx.entropy.uuid(), cx.app.mail_host),
        date: cx.now,
        headers: Vec::new(),
        code: Some(code.to_owned()),
        link,
    })
}

fn link_of(cx: &Cx, kind: MailKind, hash: &TokenHash, redirect_to: &str) -> Option<String> {
    let (wire_type, path) = link::of_kind(kind, &cx.app.policy.mail.paths)?;
    let query = link::Query { token: hash.as_str(), kind: wire_type, redirect_to };
    link::build(&cx.external_url(), path, query)
}

/// Where the browser is sent in the end.
pub fn redirect_target(cx: &Cx) -> String {
    let asked = Asked {
        header: cx.request.header("redirect_to").unwrap_or_default(),
        parameter: cx.request.query("redirect_to").unwrap_or_default(),
        referer: cx.request.header("referer").unwrap_or_default(),
    };
    cx.app.redirects.choose(asked)
}

async fn deliver(cx: &Cx, db: &mut Connection, message: &Message, purpose: Purpose) -> Result<()> {
    match &cx.app.delivery {
        Delivery::Outbox(outbox) => outbox.put(db, message).await.or_refuse("Error sending email"),
        Delivery::AtOnce(mailer) => {
            cx.journal.note(Step::Call("mail.send"));
            let sent = mailer.send(message).await;
            sent.map_err(|cause| Error::internal(purpose.sending_failed()).because(cause))
        }
    }
}

async fn store(cx: &Cx, db: &mut Connection, account: &Account, letter: Letter<'_>, hash: &TokenHash) -> Result<()> {
    let issued = Issued {
        user_id: account.id,
        slot: letter.purpose.slot(),
        hash: hash.as_str(),
        relates_to: letter.to,
        id: cx.entropy.uuid(),
        now: cx.now,
        audit: Vec::new(),
    };
    issue(db, issued).await.or_refuse("Database error updating user")
}
