//! Mails with a secret in them: the gap and the quota, the code, the link, what is written, who takes it.

use std::borrow::Cow;

use futures::future::try_join_all;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::one_time_token::{TokenHash, seconds_to_wait};
use gotrue_rules::domain::policy::{HookKind, MailKind};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::hook::EmailData;

use super::recipients::{self, Unreadable};
use super::redirect_target;
use crate::app::Delivery;
use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::mail::plain::plain;
use crate::ports::mail::template::{Rendered, Variables};
use crate::ports::mail::{Message, link, purpose_of};
use crate::services::{hooks, limits};
use crate::store::hooks::Within;
use crate::store::{Connection, OrRefuse};

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
    /// None where the operator's hook has it sent.
    pub(super) message: Option<Message>,
    code: String,
    /// The hash to be stored.
    pub hash: TokenHash,
}

/// A new secret: what a letter brings, or an administrator hands over.
pub struct Fresh {
    /// The code.
    pub code: String,
    /// The hash to be stored.
    pub hash: TokenHash,
    /// The link with the hash; none for what has only a code.
    pub link: Option<String>,
    /// Where the link leads in the end.
    pub redirect_to: String,
}

/// A secret is not printed.
impl std::fmt::Debug for Fresh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fresh").finish_non_exhaustive()
    }
}

/// Whether one more message of this kind may be mailed to all these addresses: 429 if the last one went out a moment ago,
/// 400 if one of them is not on the operator's list, 429 if too many went out to anybody. Counts it.
pub fn may_mail<'a>(cx: &Cx, account: &Account, purpose: Purpose, to: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let gap = cx.app.policy.mail.max_frequency;
    let sent_at = purpose.slot().sent_at(account).filter(|_| purpose.keeps_gap());
    if let Some(seconds) = seconds_to_wait(sent_at, gap, cx.now) {
        return Err(limits::too_soon(cx, "over_email_send_rate_limit", seconds));
    }
    recipients::require_authorized(cx, to)?;
    limits::take_mail(cx)
}

/// A new secret for this letter, whoever carries it.
pub fn fresh(cx: &Cx, letter: Letter<'_>, redirect_to: String) -> Fresh {
    let code = cx.entropy.digits(cx.app.policy.mail.otp_length);
    let hash = TokenHash::of(letter.to, &code).for_flow(letter.pkce);
    let link = letter.purpose.mail().and_then(|kind| link_of(cx, kind, &hash, &redirect_to));
    Fresh { code, hash, link, redirect_to }
}

/// Writes a mail with a new code; where the operator's hook writes it, only the code.
pub async fn compose(cx: &Cx, account: &Account, letter: Letter<'_>) -> Result<Written> {
    let fresh = fresh(cx, letter, redirect_target(cx));
    let is_ours = !cx.app.hooks.is_on(HookKind::SendEmail);
    let message = if is_ours { Some(write(cx, account, letter, &fresh).await?) } else { None };
    Ok(Written { message, code: fresh.code, hash: fresh.hash })
}

async fn write(cx: &Cx, account: &Account, letter: Letter<'_>, fresh: &Fresh) -> Result<Message> {
    let failed = || Error::internal(letter.purpose.sending_failed());
    let kind = letter.purpose.mail().ok_or_else(failed)?;
    let is_linked = link::of_kind(kind, &cx.app.policy.mail.paths).is_some();
    let variables = Variables {
        email: account.email.as_deref().unwrap_or_default(),
        data: Some(&account.user_metadata),
        confirmation_url: fresh.link.as_deref(),
        token: Some(&fresh.code),
        token_hash: is_linked.then_some(fresh.hash.as_str()),
        redirect_to: is_linked.then_some(fresh.redirect_to.as_str()),
        new_email: letter.new_email,
        sending_to: letter.new_email.map(|_| letter.to),
        ..Variables::default()
    };
    let rendered = cx.app.letters.render(kind, &variables, cx.now).await.map_err(|cause| failed().because(cause))?;
    Ok(Message { code: Some(fresh.code.clone()), link: fresh.link.clone(), ..envelope(cx, kind, letter.to, rendered) })
}

/// A mail of this kind as it travels, without code and link.
pub fn envelope(cx: &Cx, kind: MailKind, to: &str, rendered: Rendered) -> Message {
    let text = cx.app.policy.mail.plain_text_part.then(|| plain(&rendered.html));
    Message {
        purpose: Cow::Borrowed(purpose_of(kind)),
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

fn link_of(cx: &Cx, kind: MailKind, hash: &TokenHash, redirect_to: &str) -> Option<String> {
    let (wire_type, path) = link::of_kind(kind, &cx.app.policy.mail.paths)?;
    let query = link::Query { token: hash.as_str(), kind: wire_type, redirect_to };
    link::build(&cx.external_url(), path, query)
}

/// Before the write: checks the addresses and hands a message over where it is sent at once, by the mail server or by a
/// hook outside. `all` are its mails: one, or of a change that two addresses confirm the one to the new and the one to
/// the present address. Where the operator wants mail sent in the background, what goes wrong with it is only logged.
pub async fn send(cx: &Cx, account: &Account, purpose: Purpose, all: &[&Written]) -> Result<()> {
    let hooks = &cx.app.hooks;
    if hooks.is_in_database(HookKind::SendEmail) {
        return Ok(());
    }
    if hooks.is_on(HookKind::SendEmail) {
        return by_hook(cx, Within::None(&mut cx.db().with_long_statements()), account, (purpose, all)).await;
    }
    match by_mail(cx, account, purpose, all).await {
        Err(error) if cx.app.policy.mail.background_sending => {
            tracing::warn!(cause = ?error.cause, "a mail was not sent: {error}");
            Ok(())
        }
        sent => sent,
    }
}

async fn by_mail(cx: &Cx, account: &Account, purpose: Purpose, all: &[&Written]) -> Result<()> {
    let failed = || Error::internal(purpose.sending_failed());
    let messages: Vec<&Message> = all.iter().filter_map(|written| written.message.as_ref()).collect();
    let checked = recipients::check(cx, messages.iter().map(|message| message.to.as_str())).await;
    checked.map_err(|unreadable| match unreadable {
        Unreadable::Invalid => recipients::invalid(account),
        Unreadable::Blocked => failed().because(unreadable),
    })?;
    let Delivery::AtOnce(mailer) = &cx.app.delivery else { return Ok(()) };
    let sending = messages.into_iter().map(|message| {
        cx.journal.note(Step::Call("mail.send"));
        mailer.send(message)
    });
    let sent = try_join_all(sending).await;
    sent.map(|_| ()).map_err(|cause| failed().because(cause))
}

/// Inside the write: hands the same message over where that is a part of it, to the outbox or to a function of the
/// database.
pub async fn keep(cx: &Cx, db: &mut Connection, account: &Account, purpose: Purpose, all: &[&Written]) -> Result<()> {
    if cx.app.hooks.is_in_database(HookKind::SendEmail) {
        return by_hook(cx, Within::This(db), account, (purpose, all)).await;
    }
    let Delivery::Outbox(outbox) = &cx.app.delivery else { return Ok(()) };
    for message in all.iter().filter_map(|written| written.message.as_ref()) {
        outbox.put(db, message).await.or_refuse("Error sending email")?;
    }
    Ok(())
}

async fn by_hook(cx: &Cx, within: Within<'_>, account: &Account, (purpose, all): (Purpose, &[&Written])) -> Result<()> {
    let (redirect_to, site_url) = (redirect_target(cx), cx.external_url());
    let [first, rest @ ..] = all else { return Ok(()) };
    let mail = EmailData {
        token: &first.code,
        token_hash: first.hash.as_str(),
        redirect_to: &redirect_to,
        email_action_type: purpose.link_type(),
        site_url: &site_url,
        ..EmailData::default()
    };
    let mail = match rest {
        [] => mail,
        [current, ..] => {
            EmailData { token: &current.code, token_new: &first.code, token_hash_new: current.hash.as_str(), ..mail }
        }
    };
    hooks::send_email(cx, within, account, mail).await
}
