//! Notification e-mails, where the operator enables them.
//!
//! They are sent after the change is stored; a failure is only logged.

use foundation::error::{Error, Result};
use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::policy::{HookKind, MailKind};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::hook::EmailData;
use platform::journal::{FactCondition, Step};
use platform::store::OrInternalError;

use super::{hooks, limits, messages};
use crate::app::EmailDelivery;
use crate::ports::mail::template::TemplateVariables;
use crate::request_context::RequestContext;

/// Notifies a user of a changed password, which invalidates all pending tokens.
pub async fn send_password_changed(cx: &RequestContext, user: &User) {
    let user = &without_pending_tokens(user.clone());
    send_if_enabled(
        cx,
        user,
        user.email.as_deref(),
        NotificationVariables { kind: MailKind::PasswordChanged, ..NotificationVariables::default() },
    )
    .await;
}

/// The user without pending confirmations and changes.
pub fn without_pending_tokens(user: User) -> User {
    User {
        confirmation_sent_at: None,
        recovery_sent_at: None,
        email_change_sent_at: None,
        phone_change_sent_at: None,
        reauthentication_sent_at: None,
        ..user
    }
}

/// Notifies a user of a changed address or number.
///
/// The old address is notified of a new address, the current address of a replaced number and of a new identity of the
/// number, which a user without one gets.
pub async fn send_contact_changed(cx: &RequestContext, before: &User, after: &User) {
    if before.email != after.email {
        let old_email = before.email.as_deref();
        send_if_enabled(
            cx,
            after,
            old_email,
            NotificationVariables { kind: MailKind::EmailChanged, old_email, ..NotificationVariables::default() },
        )
        .await;
    }
    let (phone, old_phone) = (after.phone.as_deref(), before.phone.as_deref());
    if phone == old_phone {
        return;
    }
    let to = after.email.as_deref();
    if phone.is_some() && old_phone.is_some() {
        let kind = MailKind::PhoneChanged;
        let notice = NotificationVariables { kind, phone, old_phone, ..NotificationVariables::default() };
        send_if_enabled(cx, after, to, notice).await;
    }
    if !before.identities.iter().any(|identity| identity.provider == "phone") {
        send_identity_changed(cx, after, IdentityEvent::Linked, "phone").await;
    }
}

/// A change of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorEvent {
    /// The factor was verified for the first time.
    Enrolled,
    /// The user deleted the factor.
    Unenrolled,
}

/// Notifies a user of a changed factor.
pub async fn send_factor_changed(cx: &RequestContext, user: &User, news: FactorEvent, factor_type: &str) {
    let kind = match news {
        FactorEvent::Enrolled => MailKind::MfaFactorEnrolled,
        FactorEvent::Unenrolled => MailKind::MfaFactorUnenrolled,
    };
    let notice = NotificationVariables { kind, factor_type: Some(factor_type), ..NotificationVariables::default() };
    send_if_enabled(cx, user, user.email.as_deref(), notice).await;
}

/// A change of an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityEvent {
    /// The user linked the identity.
    Linked,
    /// The user unlinked the identity.
    Unlinked,
}

/// Notifies a user of a changed identity.
///
/// An unlinked identity is reported to the user's previous address.
pub async fn send_identity_changed(cx: &RequestContext, user: &User, news: IdentityEvent, provider: &str) {
    let kind = match news {
        IdentityEvent::Linked => MailKind::IdentityLinked,
        IdentityEvent::Unlinked => MailKind::IdentityUnlinked,
    };
    let notice = NotificationVariables { kind, provider: Some(provider), ..NotificationVariables::default() };
    send_if_enabled(cx, user, user.email.as_deref(), notice).await;
}

struct NotificationVariables<'a> {
    kind: MailKind,
    old_email: Option<&'a str>,
    phone: Option<&'a str>,
    old_phone: Option<&'a str>,
    provider: Option<&'a str>,
    factor_type: Option<&'a str>,
}

impl Default for NotificationVariables<'_> {
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

async fn send_if_enabled(cx: &RequestContext, user: &User, to: Option<&str>, notice: NotificationVariables<'_>) {
    let Some(to) = to.filter(|_| cx.app.policy.mail.is_notification_enabled(notice.kind)) else { return };
    if let Err(error) = send_notification(cx, user, to, &notice).await {
        let kind = notice.kind.as_str();
        tracing::warn!(user.id = %user.id, mail.kind = kind, error = %ErrorChain(&error), "notification not sent");
    }
}

async fn send_notification(
    cx: &RequestContext,
    user: &User,
    to: &str,
    notice: &NotificationVariables<'_>,
) -> Result<()> {
    // As in GoTrue, the user's present address counts, also where the previous one is notified.
    messages::recipients::require_authorized(cx, user.email.as_deref())?;
    limits::count_email(cx).await?;
    if cx.app.hooks.is_enabled(HookKind::SendEmail) {
        return send_by_hook(cx, user, notice).await;
    }
    let variables = TemplateVariables {
        language: messages::mail_language(cx, user),
        email: user.email.as_deref().unwrap_or_default(),
        data: Some(&user.user_metadata),
        old_email: notice.old_email,
        phone: notice.phone,
        old_phone: notice.old_phone,
        provider: notice.provider,
        factor_type: notice.factor_type,
        ..TemplateVariables::default()
    };
    let rendered = cx.app.email_templates.render(notice.kind, &variables, cx.now).await.map_err(Error::other)?;
    let message = messages::build_envelope(cx, notice.kind, to, rendered);
    messages::recipients::check_deliverable(cx, [to]).await.map_err(Error::other)?;
    match &cx.app.delivery {
        EmailDelivery::Outbox(outbox) => {
            messages::note_email(cx, &message, FactCondition::Statement);
            outbox.enqueue(&mut cx.db(), &message).await.or_internal_error("Error sending email")
        }
        EmailDelivery::Synchronous(mailer) => {
            cx.journal.record(Step::Call("mail.send"));
            mailer.send(&message).await.map_err(Error::other)?;
            messages::note_email(cx, &message, FactCondition::Now);
            Ok(())
        }
    }
}

async fn send_by_hook(cx: &RequestContext, user: &User, notice: &NotificationVariables<'_>) -> Result<()> {
    let (redirect_to, site_url) = (messages::redirect_target(cx), cx.external_url());
    let mail = EmailData {
        redirect_to: &redirect_to,
        email_action_type: notice.kind.as_str(),
        site_url: &site_url,
        old_email: notice.old_email.unwrap_or_default(),
        old_phone: notice.old_phone.unwrap_or_default(),
        provider: notice.provider.unwrap_or_default(),
        factor_type: notice.factor_type.unwrap_or_default(),
        ..EmailData::default()
    };
    hooks::send_notice(cx, user, mail).await
}
