//! Reauthentication before a password change: requirement, recipient and verification of a code.

use std::time::Duration;

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;

use super::one_time_token::{OneTimeTokenKind, TokenHash, is_expired};
use super::policy::{Policy, SecurityPolicy, SmsProvider};
use super::session::Session;
use super::user::User;

/// The recipient of a reauthentication code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReauthenticationRecipient<'a> {
    /// The user's confirmed address.
    Email(&'a str),
    /// The user's confirmed number.
    Phone(&'a str),
}

/// Selects the recipient: the address if there is one, else the number; it must be confirmed.
pub fn select_recipient(user: &User) -> Result<ReauthenticationRecipient<'_>> {
    match (&user.email, &user.phone) {
        (Some(email), _) if user.is_email_confirmed() => Ok(ReauthenticationRecipient::Email(email)),
        (Some(_), _) => Err(Error::http(422, ErrorCode::EmailNotConfirmed, "Please verify your email first.")),
        (None, Some(phone)) if user.is_phone_confirmed() => Ok(ReauthenticationRecipient::Phone(phone)),
        (None, Some(_)) => Err(Error::http(422, ErrorCode::PhoneNotConfirmed, "Please verify your phone first.")),
        (None, None) => Err(Error::invalid("Reauthentication requires the user to have an email or a phone number")),
    }
}

/// How long a session counts as recent.
const RECENT_SESSION: Duration = Duration::from_hours(24);

/// Whether a password change requires a reauthentication code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReauthenticationRequirement {
    /// No code is required; a given code is ignored.
    NotRequired,
    /// The code must be valid, and is consumed even if the change fails.
    Needed,
}

/// Decides whether a code is required; 400 `reauthentication_needed` if it is and there is none.
pub fn decide_requirement(
    nonce: &str,
    session: Option<&Session>,
    policy: &SecurityPolicy,
    now: Time,
) -> Result<ReauthenticationRequirement> {
    let is_new = session.is_some_and(|session| now <= session.created_at + RECENT_SESSION);
    if !policy.update_password_require_reauthentication || is_new {
        return Ok(ReauthenticationRequirement::NotRequired);
    }
    if nonce.is_empty() {
        return Err(Error::new(ErrorCode::ReauthenticationNeeded, "Password update requires reauthentication"));
    }
    Ok(ReauthenticationRequirement::Needed)
}

/// Result of a local code check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceCheck {
    /// The code is valid.
    Valid,
    /// Twilio Verify sent the code and must verify it.
    RequiresTwilioCheck,
}

/// Verifies a reauthentication code: that of the address if there is one, else that of the number.
pub fn verify_nonce(nonce: &str, user: &User, policy: &Policy, now: Time) -> Result<NonceCheck> {
    let slot = OneTimeTokenKind::Reauthentication;
    if slot.stored_hash(user).is_empty() || slot.sent_at(user).is_none() {
        return Err(invalid_nonce());
    }
    let made_by_twilio = matches!(policy.sms.provider, Some(SmsProvider::TwilioVerify { .. }));
    let (recipient, life) = match (&user.email, &user.phone) {
        (Some(email), _) => (email, policy.mail.otp_exp),
        (None, Some(_)) if made_by_twilio => return Ok(NonceCheck::RequiresTwilioCheck),
        (None, Some(phone)) => (phone, policy.sms.otp_exp),
        (None, None) => {
            let message = "Reauthentication requires an email or a phone number";
            return Err(Error::new(ErrorCode::ReauthenticationNotValid, message));
        }
    };
    let is_good = !is_expired(slot.sent_at(user), life, now)
        && TokenHash::new(recipient, nonce).matches_stored(slot.stored_hash(user));
    if is_good { Ok(NonceCheck::Valid) } else { Err(invalid_nonce()) }
}

/// Error of a code that is wrong, expired or used.
pub fn invalid_nonce() -> Error {
    Error::new(ErrorCode::ReauthenticationNotValid, "Nonce has expired or is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    fn user() -> User {
        User { email: Some("ann@example.com".into()), phone: Some("15550100".into()), ..User::default() }
    }

    #[test]
    fn code_is_sent_to_email_before_phone() {
        let confirmed = Some(at(0));
        let by_phone = User { email: None, ..user() };
        let code = |user: &User| select_recipient(user).map(|_| ()).map_err(|error| error.code().as_str());
        assert_eq!(code(&user()), Err("email_not_confirmed"));
        assert_eq!(code(&User { phone_confirmed_at: confirmed, ..user() }), Err("email_not_confirmed"));
        assert_eq!(code(&by_phone), Err("phone_not_confirmed"));
        assert_eq!(code(&User::default()), Err("validation_failed"));
        let mailed = User { email_confirmed_at: confirmed, ..user() };
        assert_eq!(select_recipient(&mailed).unwrap(), ReauthenticationRecipient::Email("ann@example.com"));
        let texted = User { phone_confirmed_at: confirmed, ..by_phone };
        assert_eq!(select_recipient(&texted).unwrap(), ReauthenticationRecipient::Phone("15550100"));
    }

    #[test]
    fn code_is_required_after_a_day() {
        let on = SecurityPolicy { update_password_require_reauthentication: true, ..SecurityPolicy::default() };
        let session = Session { created_at: at(0), ..Session::default() };
        let day = 24 * 60 * 60;
        let check = |nonce, session, policy: &SecurityPolicy, now| {
            decide_requirement(nonce, session, policy, at(now)).map_err(|error| error.code().as_str())
        };
        assert_eq!(check("", Some(&session), &on, day), Ok(ReauthenticationRequirement::NotRequired));
        assert_eq!(check("", Some(&session), &on, day + 1), Err("reauthentication_needed"));
        assert_eq!(check("1", Some(&session), &on, day + 1), Ok(ReauthenticationRequirement::Needed));
        assert_eq!(check("", None, &on, 0), Err("reauthentication_needed"));
        assert_eq!(check("", None, &SecurityPolicy::default(), day * 9), Ok(ReauthenticationRequirement::NotRequired));
    }

    #[test]
    fn code_of_email_is_verified_before_code_of_phone() {
        let sent = |recipient: &str, user: User| User {
            reauthentication_token: TokenHash::new(recipient, "123456").as_str().to_owned(),
            reauthentication_sent_at: Some(at(0)),
            ..user
        };
        let policy = Policy::default();
        let check = |code, user: &User, seconds| {
            verify_nonce(code, user, &policy, at(seconds)).map_err(|error| error.to_string())
        };
        let by_mail = sent("ann@example.com", user());
        let by_phone = sent("15550100", User { email: None, ..user() });
        let invalid = Err("422: Nonce has expired or is invalid".to_owned());
        assert_eq!(check("123456", &by_mail, 24 * 60 * 60), Ok(NonceCheck::Valid));
        assert_eq!(check("123456", &by_mail, 24 * 60 * 60 + 1), invalid);
        assert_eq!(check("123457", &by_mail, 0), invalid);
        assert_eq!(check("123456", &by_phone, 60), Ok(NonceCheck::Valid));
        assert_eq!(check("123456", &by_phone, 61), invalid);
        assert_eq!(check("123456", &sent("15550100", user()), 0), invalid);
        assert_eq!(check("", &user(), 0), invalid);
        assert_eq!(check("1", &User::default(), 0), invalid);
        let no_user = check("1", &sent("x", User::default()), 0).unwrap_err();
        assert_eq!(no_user, "422: Reauthentication requires an email or a phone number");
    }
}
