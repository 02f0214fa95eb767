//! The built-in texts without a brand: the reference's subjects and this project's bodies.
//!
//! The bodies share a layout that works in Outlook (tables, colours beside styles) and in dark mode. Each has at most
//! one link, and no code beside a link.

use gotmpl::html::Template;
use gotrue_rules::domain::policy::MailKind;

const FRAME: &str = include_str!("../templates/layout.html");

/// Returns the reference's subject of this kind.
pub fn subject(kind: MailKind) -> &'static str {
    match kind {
        MailKind::Invite => "You've been invited",
        MailKind::Confirmation => "Confirm your email address",
        MailKind::Recovery => "Reset your password",
        MailKind::MagicLink => "Your sign-in link",
        MailKind::EmailChange => "Confirm your new email address",
        MailKind::Reauthentication => "{{ .Token }} is your verification code",
        MailKind::PasswordChanged => "Your password was changed",
        MailKind::EmailChanged => "Your email address was changed",
        MailKind::PhoneChanged => "Your phone number was changed",
        MailKind::IdentityLinked => "A new sign-in method was linked to your account",
        MailKind::IdentityUnlinked => "A sign-in method was removed from your account",
        MailKind::MfaFactorEnrolled => "A new verification method was added to your account",
        MailKind::MfaFactorUnenrolled => "A verification method was removed from your account",
    }
}

/// Returns the built-in body of this kind.
pub(super) fn body(kind: MailKind) -> gotmpl::Result<Template> {
    let content = match kind {
        MailKind::Invite => include_str!("../templates/invite.html"),
        MailKind::Confirmation => include_str!("../templates/confirmation.html"),
        MailKind::Recovery => include_str!("../templates/recovery.html"),
        MailKind::MagicLink => include_str!("../templates/magic_link.html"),
        MailKind::EmailChange => include_str!("../templates/email_change.html"),
        MailKind::Reauthentication => include_str!("../templates/reauthentication.html"),
        MailKind::PasswordChanged => include_str!("../templates/password_changed_notification.html"),
        MailKind::EmailChanged => include_str!("../templates/email_changed_notification.html"),
        MailKind::PhoneChanged => include_str!("../templates/phone_changed_notification.html"),
        MailKind::IdentityLinked => include_str!("../templates/identity_linked_notification.html"),
        MailKind::IdentityUnlinked => include_str!("../templates/identity_unlinked_notification.html"),
        MailKind::MfaFactorEnrolled => include_str!("../templates/mfa_factor_enrolled_notification.html"),
        MailKind::MfaFactorUnenrolled => include_str!("../templates/mfa_factor_unenrolled_notification.html"),
    };
    Template::new("body").parse(FRAME)?.parse(content)
}
