//! What `PUT /user` may change (`endpoints.md` §8): the checks in their order, as far as they need nothing but values.
//! Between the steps the caller looks addresses up and compares passwords.

use super::contact::{Channel, Email, Phone};
use super::error::{Error, Result};
use super::policy::{Policy, SecurityPolicy};
use super::session::{Aal, Session};
use super::user::Account;
use crate::wire::requests::UserUpdate;

/// The address and number of a request, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contacts {
    /// The address, if one is given.
    pub email: Option<Email>,
    /// The number and how a text reaches it, if one is given.
    pub phone: Option<(Phone, Channel)>,
}

/// The first checks: the forms of address, number and channel. The password's strength comes next.
pub fn contacts(request: &UserUpdate, policy: &Policy) -> Result<Contacts> {
    let given = |text: &str| !text.is_empty();
    let email = given(&request.email).then(|| Email::parse(&request.email)).transpose()?;
    let phone = given(&request.phone).then(|| Phone::parse(&request.phone)).transpose()?;
    let channel = |phone| {
        Channel::parse(&request.channel, &policy.sms, policy.hooks.send_sms.is_some()).map(|channel| (phone, channel))
    };
    Ok(Contacts { email, phone: phone.map(channel).transpose()? })
}

/// What is really to change: the same address or number again is no change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The new address.
    pub email: Option<Email>,
    /// The new number and how a text reaches it.
    pub phone: Option<(Phone, Channel)>,
}

/// Whether the caller may make these changes: `app_metadata`, number, level, anonymous and single sign-on accounts, in
/// this order. A missing session is the internal error that it is in the reference.
pub fn permit(
    request: &UserUpdate,
    contacts: Contacts,
    account: &Account,
    session: Option<&Session>,
    policy: &Policy,
) -> Result<Changes> {
    if request.app_metadata.is_some() && !is_admin(account, policy) {
        return Err(Error::forbidden("not_admin", "Updating app_metadata requires admin privileges"));
    }
    let has_contact = contacts.email.is_some() || contacts.phone.is_some();
    let changes = Changes {
        email: contacts.email.filter(|email| account.email.as_deref() != Some(email.as_str())),
        phone: contacts.phone.filter(|(phone, _)| account.phone.as_deref() != Some(phone.as_str())),
    };
    if changes.phone.is_some() && policy.sign_up.phone_change_needs_phone && !policy.sign_up.phone_enabled {
        return Err(Error::bad_request("phone_provider_disabled", "Changes of phone number are disabled"));
    }
    let has_password = request.password.as_deref().is_some_and(|password| !password.is_empty());
    let is_sensitive = has_password || changes.email.is_some() || changes.phone.is_some();
    if account.has_verified_factor() && require_session(session)?.aal != Aal::Aal2 && is_sensitive {
        return Err(Error::unauthorized(
            "insufficient_aal",
            "AAL2 session is required to update email or password when MFA is enabled.",
        ));
    }
    if account.is_anonymous && has_password && !has_contact {
        return Err(Error::unprocessable(
            "validation_failed",
            "Updating password of an anonymous user without an email or phone is not allowed",
        ));
    }
    if account.is_sso_user && (is_sensitive || !request.nonce.is_empty()) {
        return Err(Error::unprocessable(
            "user_sso_managed",
            "Updating email, phone, password of a SSO account only possible via SSO",
        ));
    }
    Ok(changes)
}

/// Whether the account belongs to the administrators' group of the server's own audience.
fn is_admin(account: &Account, policy: &Policy) -> bool {
    account.aud == policy.jwt.aud && account.role == policy.jwt.admin_group
}

fn require_session(session: Option<&Session>) -> Result<&Session> {
    session.ok_or_else(|| Error::broken("the access token names no session"))
}

/// The refusal of an address that another account has.
pub fn email_taken() -> Error {
    Error::unprocessable("email_exists", "A user with this email address has already been registered")
}

/// The refusal of a number that another account has.
pub fn phone_taken() -> Error {
    Error::unprocessable("phone_exists", "A user with this phone number has already been registered")
}

/// The old password that must be compared before a new one is set, if one must; 400 `current_password_required` if it
/// is missing. A session that came from a recovery, or from a code or link, needs none.
pub fn current_password<'a>(
    request: &'a UserUpdate,
    account: &Account,
    session: Option<&Session>,
    policy: &SecurityPolicy,
) -> Result<Option<&'a str>> {
    if !policy.update_password_require_current_password || !account.has_password() {
        return Ok(None);
    }
    let recovers = |method: &str| matches!(method, "otp" | "magiclink" | "recovery");
    if require_session(session)?.amr.iter().any(|claim| recovers(&claim.method)) {
        return Ok(None);
    }
    let given = request.current_password.as_deref().filter(|password| !password.is_empty());
    given.map(Some).ok_or_else(|| Error::bad_request("current_password_required", CURRENT_PASSWORD))
}

const CURRENT_PASSWORD: &str = "Current password required when setting new password.";

/// The refusal of a current password that is wrong.
pub fn current_password_wrong() -> Error {
    Error::bad_request("current_password_invalid", CURRENT_PASSWORD)
}

/// The refusal of a new password that is the old one.
pub fn same_password() -> Error {
    Error::unprocessable("same_password", "New password should be different from the old password.")
}

/// How a new address or number takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactChange {
    /// At once: as if it had been confirmed.
    AtOnce,
    /// When it is confirmed: messages are sent.
    WhenConfirmed,
}

/// How a new address takes effect: at once only for an anonymous account where addresses count as confirmed.
pub fn email_change(account: &Account, policy: &Policy) -> ContactChange {
    if account.is_anonymous && policy.mail.autoconfirm { ContactChange::AtOnce } else { ContactChange::WhenConfirmed }
}

/// How a new number takes effect.
pub fn phone_change(policy: &Policy) -> ContactChange {
    if policy.sms.autoconfirm { ContactChange::AtOnce } else { ContactChange::WhenConfirmed }
}

/// The old address, if it has to confirm a change too.
pub fn also_confirms<'a>(account: &'a Account, policy: &Policy) -> Option<&'a str> {
    account.email.as_deref().filter(|_| policy.mail.secure_email_change)
}

#[cfg(test)]
mod tests;
