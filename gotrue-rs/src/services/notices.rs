//! Mails that tell of something done, where the operator wants them. They go out once it is stored, and when one cannot
//! be sent only the log hears of it.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::policy::{HookKind, MailKind};
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::hook::EmailData;

use super::{hooks, limits, messages};
use crate::app::Delivery;
use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::mail::template::Variables;
use crate::store::OrRefuse;

/// Tells the account's address of a new password, with which everything that was asked before is void.
pub async fn of_password(cx: &Cx, account: &Account) {
    let account = &without_pending(account.clone());
    tell(cx, account, account.email.as_deref(), Told { kind: MailKind::PasswordChanged, ..Told::default() }).await;
}

/// The account as if nothing had been asked for.
pub fn without_pending(account: Account) -> Account {
    Account {
        confirmation_sent_at: None,
        recovery_sent_at: None,
        email_change_sent_at: None,
        phone_change_sent_at: None,
        reauthentication_sent_at: None,
        ..account
    }
}

/// Tells of a new address or number, by what has become of the account. The old address is told of a new one, the
/// address of a number; a first number is a way to sign in that was added.
pub async fn of_contacts(cx: &Cx, before: &Account, after: &Account) {
    if before.email != after.email {
        let old_email = before.email.as_deref();
        tell(cx, after, old_email, Told { kind: MailKind::EmailChanged, old_email, ..Told::default() }).await;
    }
    if before.phone != after.phone {
        let by_phone = before.identities.iter().any(|identity| identity.provider == "phone");
        let told = if by_phone {
            let (phone, old_phone) = (after.phone.as_deref(), before.phone.as_deref());
            Told { kind: MailKind::PhoneChanged, phone, old_phone, ..Told::default() }
        } else {
            Told { kind: MailKind::IdentityLinked, provider: Some("phone"), ..Told::default() }
        };
        tell(cx, after, after.email.as_deref(), told).await;
    }
}

/// What has become of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorNews {
    /// It was verified for the first time.
    Enrolled,
    /// Its owner took it away.
    Unenrolled,
}

/// Tells the account's address of a factor.
pub async fn of_factor(cx: &Cx, account: &Account, news: FactorNews, factor: FactorType) {
    let kind = match news {
        FactorNews::Enrolled => MailKind::MfaFactorEnrolled,
        FactorNews::Unenrolled => MailKind::MfaFactorUnenrolled,
    };
    let told = Told { kind, factor_type: Some(factor.as_str()), ..Told::default() };
    tell(cx, account, account.email.as_deref(), told).await;
}

/// What has become of an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityNews {
    /// Its owner added it.
    Linked,
    /// Its owner took it away.
    Unlinked,
}

/// Tells the account's address of an identity; of one that is gone the address that the account had before.
pub async fn of_identity(cx: &Cx, account: &Account, news: IdentityNews, provider: &str) {
    let kind = match news {
        IdentityNews::Linked => MailKind::IdentityLinked,
        IdentityNews::Unlinked => MailKind::IdentityUnlinked,
    };
    let told = Told { kind, provider: Some(provider), ..Told::default() };
    tell(cx, account, account.email.as_deref(), told).await;
}

/// What a notice says.
struct Told<'a> {
    kind: MailKind,
    old_email: Option<&'a str>,
    phone: Option<&'a str>,
    old_phone: Option<&'a str>,
    provider: Option<&'a str>,
    factor_type: Option<&'a str>,
}

impl Default for Told<'_> {
    fn default() -> Self {
        Self {
            kind: MailKind::PasswordChanged,
            old_email: None,
            phone: None,
            old_phone: None,
            provider: None,
            factor_type: None,
        }
    }
}

async fn tell(cx: &Cx, account: &Account, to: Option<&str>, told: Told<'_>) {
    let Some(to) = to.filter(|_| cx.app.policy.mail.notifies(told.kind)) else { return };
    if let Err(error) = send(cx, account, to, &told).await {
        let kind = told.kind.as_str();
        tracing::warn!(user.id = %account.id, mail.kind = kind, cause = ?error.cause, "a notice was not sent: {error}");
    }
}

async fn send(cx: &Cx, account: &Account, to: &str, told: &Told<'_>) -> Result<()> {
    messages::recipients::require_authorized(cx, [to])?;
    limits::take_mail(cx)?;
    if cx.app.hooks.is_on(HookKind::SendEmail) {
        return by_hook(cx, account, told).await;
    }
    let variables = Variables {
        email: account.email.as_deref().unwrap_or_default(),
        data: Some(&account.user_metadata),
        old_email: told.old_email,
        phone: told.phone,
        old_phone: told.old_phone,
        provider: told.provider,
        factor_type: told.factor_type,
        ..Variables::default()
    };
    let rendered = cx.app.letters.render(told.kind, &variables, cx.now).await.map_err(Error::other)?;
    let message = messages::envelope(cx, told.kind, to, rendered);
    messages::recipients::check(cx, [to]).await.map_err(Error::other)?;
    match &cx.app.delivery {
        Delivery::Outbox(outbox) => outbox.put(&mut cx.db(), &message).await.or_refuse("Error sending email"),
        Delivery::AtOnce(mailer) => {
            cx.journal.note(Step::Call("mail.send"));
            mailer.send(&message).await.map_err(Error::other)
        }
    }
}

async fn by_hook(cx: &Cx, account: &Account, told: &Told<'_>) -> Result<()> {
    let (redirect_to, site_url) = (messages::redirect_target(cx), cx.external_url());
    let mail = EmailData {
        redirect_to: &redirect_to,
        email_action_type: told.kind.as_str(),
        site_url: &site_url,
        old_email: told.old_email.unwrap_or_default(),
        old_phone: told.old_phone.unwrap_or_default(),
        provider: told.provider.unwrap_or_default(),
        factor_type: told.factor_type.unwrap_or_default(),
        ..EmailData::default()
    };
    hooks::send_notice(cx, account, mail).await
}
