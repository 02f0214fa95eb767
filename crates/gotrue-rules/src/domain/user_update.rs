//! Validation of `PUT /user`. Lookups and password verification happen elsewhere, between these steps.

use foundation::email::Email;
use foundation::error::{Error, ErrorCode, Result};

use super::contact::{Phone, SmsChannel};
use super::policy::{Policy, SecurityPolicy};
use super::session::Session;
use super::step_up::is_step_up_required_for_update;
use super::user::User;
use crate::wire::requests::UserUpdateRequest;

/// The validated contacts of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserUpdateContacts {
    /// The address, if one is given.
    pub email: Option<Email>,
    /// The number and its SMS channel, if given.
    pub phone: Option<(Phone, SmsChannel)>,
}

/// Validates the format of address, number and channel, before the password's strength.
pub fn parse_contacts(request: &UserUpdateRequest, policy: &Policy) -> Result<UserUpdateContacts> {
    let given = |text: &str| !text.is_empty();
    let email = given(&request.email).then(|| Email::parse(&request.email)).transpose()?;
    let phone = given(&request.phone).then(|| Phone::parse(&request.phone)).transpose()?;
    let channel = |phone| {
        SmsChannel::parse(&request.channel, &policy.sms, policy.hooks.send_sms.is_some())
            .map(|channel| (phone, channel))
    };
    Ok(UserUpdateContacts { email, phone: phone.map(channel).transpose()? })
}

/// The effective contact changes; unchanged contacts are omitted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContactChanges {
    /// The new address.
    pub email: Option<Email>,
    /// The new number and its SMS channel.
    pub phone: Option<(Phone, SmsChannel)>,
}

/// Authorizes the changes: `app_metadata`, number, level, anonymous user, SSO user, in this order.
/// A missing session is an internal error, as in GoTrue.
pub fn authorize_update(
    request: &UserUpdateRequest,
    contacts: UserUpdateContacts,
    user: &User,
    session: Option<&Session>,
    policy: &Policy,
) -> Result<ContactChanges> {
    if request.app_metadata.is_some() && !is_admin(user, policy) {
        return Err(Error::new(ErrorCode::NotAdmin, "Updating app_metadata requires admin privileges"));
    }
    let has_contact = contacts.email.is_some() || contacts.phone.is_some();
    let changes = ContactChanges {
        email: contacts.email.filter(|email| user.email.as_deref() != Some(email.as_str())),
        phone: contacts.phone.filter(|(phone, _)| user.phone.as_deref() != Some(phone.as_str())),
    };
    if changes.phone.is_some() && policy.sign_up.phone_change_requires_phone_sign_up && !policy.sign_up.phone_enabled {
        return Err(Error::new(ErrorCode::PhoneProviderDisabled, "Changes of phone number are disabled"));
    }
    let has_password = request.password.as_deref().is_some_and(|password| !password.is_empty());
    let is_sensitive = has_password || changes.email.is_some() || changes.phone.is_some();
    if user.has_verified_factor() {
        require_session(session)?;
    }
    if is_sensitive && is_step_up_required_for_update(user, session) {
        return Err(Error::http(
            401,
            ErrorCode::InsufficientAal,
            "AAL2 session is required to update email or password when MFA is enabled.",
        ));
    }
    if user.is_anonymous && has_password && !has_contact {
        return Err(Error::http(
            422,
            ErrorCode::ValidationFailed,
            "Updating password of an anonymous user without an email or phone is not allowed",
        ));
    }
    if user.is_sso_user && (is_sensitive || !request.nonce.is_empty()) {
        return Err(Error::new(
            ErrorCode::UserSsoManaged,
            "Updating email, phone, password of a SSO account only possible via SSO",
        ));
    }
    Ok(changes)
}

/// Whether the user has the administrator role and the server's audience.
fn is_admin(user: &User, policy: &Policy) -> bool {
    user.aud == policy.jwt.aud && user.role == policy.jwt.admin_group
}

fn require_session(session: Option<&Session>) -> Result<&Session> {
    session.ok_or_else(|| Error::internal_server_error("the access token names no session"))
}

/// Error of an address of another user.
pub fn email_taken() -> Error {
    Error::new(ErrorCode::EmailExists, "A user with this email address has already been registered")
}

/// Error of a number of another user.
pub fn phone_taken() -> Error {
    Error::new(ErrorCode::PhoneExists, "A user with this phone number has already been registered")
}

/// Returns the current password to verify, if required; 400 `current_password_required` if missing.
///
/// A session from a recovery, a code or a link requires none.
pub fn current_password_to_verify<'a>(
    request: &'a UserUpdateRequest,
    user: &User,
    session: Option<&Session>,
    policy: &SecurityPolicy,
) -> Result<Option<&'a str>> {
    if !policy.update_password_require_current_password || !user.has_password() {
        return Ok(None);
    }
    let recovers = |method: &str| matches!(method, "otp" | "magiclink" | "recovery");
    if require_session(session)?.amr.iter().any(|claim| recovers(&claim.method)) {
        return Ok(None);
    }
    let given = request.current_password.as_deref().filter(|password| !password.is_empty());
    given.map(Some).ok_or_else(|| Error::new(ErrorCode::CurrentPasswordRequired, CURRENT_PASSWORD_REQUIRED))
}

const CURRENT_PASSWORD_REQUIRED: &str = "Current password required when setting new password.";

/// Error of a wrong current password.
pub fn current_password_wrong() -> Error {
    Error::new(ErrorCode::CurrentPasswordInvalid, CURRENT_PASSWORD_REQUIRED)
}

/// Error of a new password that equals the current one.
pub fn same_password() -> Error {
    Error::new(ErrorCode::SamePassword, "New password should be different from the old password.")
}

/// When a contact change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactChangeMode {
    /// Immediately, as confirmed.
    Immediate,
    /// After confirmation; messages are sent.
    AfterConfirmation,
}

/// Returns the mode of an email change: immediate only for an anonymous user with auto-confirmation.
pub fn email_change_mode(user: &User, policy: &Policy) -> ContactChangeMode {
    if user.is_anonymous && policy.mail.autoconfirm {
        ContactChangeMode::Immediate
    } else {
        ContactChangeMode::AfterConfirmation
    }
}

/// Returns the mode of a phone change.
pub fn phone_change_mode(policy: &Policy) -> ContactChangeMode {
    if policy.sms.autoconfirm { ContactChangeMode::Immediate } else { ContactChangeMode::AfterConfirmation }
}

/// Returns the current address, if it must confirm a change too.
pub fn current_email_to_confirm<'a>(user: &'a User, policy: &Policy) -> Option<&'a str> {
    user.email.as_deref().filter(|_| policy.mail.secure_email_change)
}

#[cfg(test)]
mod tests;
