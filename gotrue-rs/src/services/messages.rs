//! Messages with a secret in them: the gap, the code, the letter, the two homes of the hash, in the order in which the
//! reference does it. Where mail is sent at once the request waits for it: with a connection only if the account is made
//! by the same write. With an outbox the letter is a row of that write.

use std::borrow::Cow;

use futures::future::try_join_all;
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
use crate::ports::mail::template::{Rendered, Variables};
use crate::ports::mail::{Message, link, purpose_of};
use crate::ports::sms::TEST_MESSAGE_ID;
use crate::services::limits;
use crate::store::audit::AuditRow;
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
            let letter = Letter { purpose: Purpose::SignUp, to: email.as_str(), pkce, new_email: None };
            may_mail(cx, account, letter.purpose)?;
            let written = compose(cx, account, letter).await?;
            send(cx, letter.purpose, [&written]).await?;
            keep(cx, db, [&written]).await?;
            store(cx, db, account, Secret::of(letter, &written.hash), Vec::new()).await?;
        }
        Contact::Phone(phone) => {
            let texted = text(cx, account, Purpose::Sms, phone.as_str()).await?;
            let secret = Secret { purpose: Purpose::Sms, to: phone.as_str(), hash: &texted.hash };
            store(cx, db, account, secret, Vec::new()).await?;
        }
    }
    Ok(cx.now)
}

/// Mails an account that exists. Nothing is held while the mail is sent, and nothing is stored if it is not.
pub async fn ask(cx: &Cx, account: &Account, letter: Letter<'_>, audit: Vec<AuditRow>) -> Result<()> {
    may_mail(cx, account, letter.purpose)?;
    let written = compose(cx, account, letter).await?;
    send(cx, letter.purpose, [&written]).await?;
    let mut db = begin(cx).await?;
    keep(cx, &mut db, [&written]).await?;
    store(cx, &mut db, account, Secret::of(letter, &written.hash), audit).await?;
    Ok(db.commit().await?)
}

/// A transaction where a mail is a row of it, else statements that stand alone.
async fn begin(cx: &Cx) -> Result<Connection> {
    match &cx.app.delivery {
        Delivery::Outbox(_) => Ok(cx.begin().await?),
        Delivery::AtOnce(_) => Ok(cx.db()),
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
    /// The address that the account changes to, if that is what it is for.
    pub new_email: Option<&'a str>,
}

/// A mail, ready to be sent, and the hash of what is in it.
#[derive(Debug)]
pub struct Written {
    message: Message,
    /// The hash to be stored.
    pub hash: TokenHash,
}

/// A text that is on the way.
#[derive(Debug)]
pub struct Texted {
    /// The hash to be stored.
    pub hash: TokenHash,
    /// What the client is told of it: only of numbers with a fixed code.
    pub message_id: Option<&'static str>,
}

/// A secret to be stored, once its message is on the way.
#[derive(Debug, Clone, Copy)]
pub struct Secret<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// Whom it went to.
    pub to: &'a str,
    /// Its hash.
    pub hash: &'a TokenHash,
}

impl<'a> Secret<'a> {
    fn of(letter: Letter<'a>, hash: &'a TokenHash) -> Self {
        Self { purpose: letter.purpose, to: letter.to, hash }
    }
}

/// Whether one more message of this kind may be mailed: 429 if the last one went out a moment ago, or if too many went
/// out to anybody. Counts it.
pub fn may_mail(cx: &Cx, account: &Account, purpose: Purpose) -> Result<()> {
    let gap = cx.app.policy.mail.max_frequency;
    if let Some(seconds) = seconds_to_wait(purpose.slot().sent_at(account), gap, cx.now) {
        return Err(too_soon("over_email_send_rate_limit", seconds));
    }
    limits::take_mail(cx)
}

/// Writes a mail with a new code.
pub async fn compose(cx: &Cx, account: &Account, letter: Letter<'_>) -> Result<Written> {
    let code = cx.entropy.digits(cx.app.policy.mail.otp_length);
    let hash = TokenHash::of(letter.to, &code).for_flow(letter.pkce);
    let message = write(cx, account, letter, &code, &hash).await?;
    Ok(Written { message, hash })
}

/// Texts a new code; 429 if the last of its kind went out a moment ago.
pub async fn text(cx: &Cx, account: &Account, purpose: Purpose, to: &str) -> Result<Texted> {
    let policy = &cx.app.policy.sms;
    if let Some(seconds) = seconds_to_wait(purpose.slot().sent_at(account), policy.max_frequency, cx.now) {
        return Err(too_soon("over_sms_send_rate_limit", seconds));
    }
    // A number of the operator's test list gets its fixed code, and nothing is sent.
    let code = policy.test_code(to, cx.now).ok_or_else(|| Error::internal("Unable to get SMS provider"))?;
    Ok(Texted { hash: TokenHash::of(to, code), message_id: Some(TEST_MESSAGE_ID) })
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
        new_email: letter.new_email,
        sending_to: letter.new_email.map(|_| letter.to),
        ..Variables::default()
    };
    let rendered = cx.app.letters.render(kind, &variables, cx.now).await.map_err(|cause| failed().because(cause))?;
    Ok(Message { code: Some(code.to_owned()), link, ..envelope(cx, kind, letter.to, rendered) })
}

/// A mail of this kind as it travels, without code and link.
pub fn envelope(cx: &Cx, kind: MailKind, to: &str, rendered: Rendered) -> Message {
    Message {
        purpose: Cow::Borrowed(purpose_of(kind)),
        to: to.to_owned(),
        subject: rendered.subject,
        html: rendered.html,
        text: None,
        message_id: format!("{}@{}", cx.entropy.uuid(), cx.app.mail_host),
        date: cx.now,
        headers: Vec::new(),
        code: None,
        link: None,
    }
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

/// Sends mails side by side where they are sent at once; with an outbox there is nothing to do yet.
pub async fn send<'a>(cx: &Cx, purpose: Purpose, all: impl IntoIterator<Item = &'a Written>) -> Result<()> {
    let Delivery::AtOnce(mailer) = &cx.app.delivery else { return Ok(()) };
    let sending = all.into_iter().map(|written| {
        cx.journal.note(Step::Call("mail.send"));
        mailer.send(&written.message)
    });
    let sent = try_join_all(sending).await;
    sent.map(|_| ()).map_err(|cause| Error::internal(purpose.sending_failed()).because(cause))
}

/// Puts mails into the outbox, where there is one, in the caller's transaction.
pub async fn keep<'a>(cx: &Cx, db: &mut Connection, all: impl IntoIterator<Item = &'a Written>) -> Result<()> {
    let Delivery::Outbox(outbox) = &cx.app.delivery else { return Ok(()) };
    for written in all {
        outbox.put(db, &written.message).await.or_refuse("Error sending email")?;
    }
    Ok(())
}

/// Stores the hash of what was sent in both its homes; audit rows ride along.
pub async fn store(
    cx: &Cx,
    db: &mut Connection,
    account: &Account,
    secret: Secret<'_>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let issued = Issued {
        user_id: account.id,
        slot: secret.purpose.slot(),
        hash: secret.hash.as_str(),
        relates_to: secret.to,
        id: cx.entropy.uuid(),
        now: cx.now,
        audit,
    };
    issue(db, issued).await.or_refuse("Database error updating user")
}
