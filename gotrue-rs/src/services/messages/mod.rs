//! Messages with a secret in them: the gap, the code, the letter or text, the two homes of the hash, in the order in
//! which the reference does it. Where mail is sent at once the request waits for it: with a connection only if the
//! account is made by the same write. With an outbox the letter is a row of that write.

pub mod decoys;
mod letters;
pub mod recipients;
mod texts;

use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::one_time_token::TokenHash;
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::redirect::Asked;
use gotrue_rules::domain::sign_up::Newcomer;
use gotrue_rules::domain::user::Account;

pub use self::letters::{Fresh, Letter, Written, compose, envelope, fresh, keep, may_mail, send};
pub use self::texts::{Outgoing, Reason, Text, Texted, deliver, require_right_by_sender, text};
use super::pkce;
use crate::app::Delivery;
use crate::cx::Cx;
use crate::store::audit::AuditRow;
use crate::store::one_time_tokens::{Issued, issue};
use crate::store::{Connection, OrRefuse};

/// A confirmation that was asked of an address or number. What it takes to redeem it is not stored yet.
#[derive(Debug)]
pub enum Confirmation<'a> {
    /// By mail.
    Mailed(Letter<'a>, Box<Written>),
    /// By text.
    Texted(&'a str, Texted),
}

/// Asks a newcomer to confirm an address or number; answers when that was sent.
pub async fn confirm_contact<'a>(
    cx: &Cx,
    account: &Account,
    newcomer: &'a Newcomer,
    pkce: bool,
) -> Result<Confirmation<'a>> {
    match &newcomer.contact {
        Contact::Email(email) => {
            let letter = Letter { purpose: Purpose::SignUp, to: email.as_str(), pkce, new_email: None };
            Ok(Confirmation::Mailed(letter, Box::new(mail(cx, account, letter).await?)))
        }
        Contact::Phone(phone) => {
            let wanted = Text { purpose: Purpose::Sms, to: phone.as_str(), channel: &newcomer.channel };
            Ok(Confirmation::Texted(phone.as_str(), text(cx, account, wanted).await?))
        }
    }
}

impl Confirmation<'_> {
    /// Stores it in the caller's transaction.
    pub async fn store(&self, cx: &Cx, db: &mut Connection, account: &Account) -> Result<()> {
        let secret = match self {
            Self::Mailed(letter, written) => {
                keep(cx, db, account, letter.purpose, &[written]).await?;
                Secret::of(*letter, &written.hash)
            }
            Self::Texted(to, texted) => {
                texted.keep(cx, db, account).await?;
                Secret { purpose: Purpose::Sms, to, hash: &texted.hash }
            }
        };
        store(cx, db, account, secret, Vec::new()).await
    }
}

/// Writes a mail and sends it, where mails are sent at once.
async fn mail(cx: &Cx, account: &Account, letter: Letter<'_>) -> Result<Written> {
    may_mail(cx, account, letter.purpose, [letter.to])?;
    let written = compose(cx, account, letter).await?;
    send(cx, account, letter.purpose, &[&written]).await?;
    Ok(written)
}

/// Mails an account that the caller's transaction makes: a mail that is refused leaves nothing of it.
pub async fn mail_newcomer(
    cx: &Cx,
    db: &mut Connection,
    account: &Account,
    letter: Letter<'_>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let written = mail(cx, account, letter).await?;
    keep(cx, db, account, letter.purpose, &[&written]).await?;
    store(cx, db, account, Secret::of(letter, &written.hash), audit).await
}

/// Mails an account that exists. Nothing is held while the mail is sent, and nothing is stored if it is not.
pub async fn ask(cx: &Cx, account: &Account, letter: Letter<'_>, audit: Vec<AuditRow>) -> Result<()> {
    ask_in_flow(cx, account, letter, None, audit).await
}

/// The same; the flow of the client is stored together with the secret.
pub async fn ask_in_flow(
    cx: &Cx,
    account: &Account,
    letter: Letter<'_>,
    flow: Option<&Challenge>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let written = mail(cx, account, letter).await?;
    let mut db = if flow.is_some() { cx.begin().await? } else { begin(cx).await? };
    if let Some(challenge) = flow {
        pkce::open(cx, &mut db, account.id, challenge, letter.purpose).await?;
    }
    keep(cx, &mut db, account, letter.purpose, &[&written]).await?;
    store(cx, &mut db, account, Secret::of(letter, &written.hash), audit).await?;
    Ok(db.commit().await?)
}

/// Texts an account that exists; the message's id, where the client is told one.
pub async fn ask_by_text(cx: &Cx, account: &Account, wanted: Text<'_>, audit: Vec<AuditRow>) -> Result<Option<String>> {
    let texted = text(cx, account, wanted).await?;
    let secret = Secret { purpose: wanted.purpose, to: wanted.to, hash: &texted.hash };
    let is_kept = cx.app.hooks.is_in_database(HookKind::SendSms);
    let mut db = if is_kept { cx.begin().await? } else { cx.db() };
    texted.keep(cx, &mut db, account).await?;
    store(cx, &mut db, account, secret, audit).await?;
    db.commit().await?;
    Ok(texted.message_id)
}

/// A transaction within which an account is made and its message is sent. Where that means to wait for somebody it is one
/// of few, so that others find a connection.
pub async fn begin_with(cx: &Cx, contact: &Contact) -> Result<Connection> {
    match contact {
        Contact::Email(_) => begin_to_mail(cx).await,
        Contact::Phone(_) if cx.app.hooks.is_in_database(HookKind::SendSms) => Ok(cx.begin().await?),
        Contact::Phone(_) => Ok(cx.begin_to_wait().await?),
    }
}

/// The same for an account that is mailed.
pub async fn begin_to_mail(cx: &Cx) -> Result<Connection> {
    Ok(if mails_are_rows(cx) { cx.begin().await? } else { cx.begin_to_wait().await? })
}

/// A transaction where sending a mail is a part of it, else statements that stand alone.
async fn begin(cx: &Cx) -> Result<Connection> {
    Ok(if mails_are_rows(cx) { cx.begin().await? } else { cx.db() })
}

/// Whether mails are handed over within the write, without waiting for anybody outside.
fn mails_are_rows(cx: &Cx) -> bool {
    let hooks = &cx.app.hooks;
    match &cx.app.delivery {
        _ if hooks.is_on(HookKind::SendEmail) => hooks.is_in_database(HookKind::SendEmail),
        Delivery::Outbox(_) => true,
        Delivery::AtOnce(_) => false,
    }
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

/// Where the browser is sent in the end.
pub fn redirect_target(cx: &Cx) -> String {
    let asked = Asked {
        header: cx.request.header("redirect_to").unwrap_or_default(),
        parameter: cx.request.query("redirect_to").unwrap_or_default(),
        referer: cx.request.header("referer").unwrap_or_default(),
    };
    cx.app.redirects.choose(asked)
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
        purpose: secret.purpose,
        hash: secret.hash.as_str(),
        relates_to: secret.to,
        id: cx.entropy.uuid(),
        now: cx.now,
        audit,
    };
    issue(db, issued).await.or_refuse("Database error updating user")
}
