//! Proving oneself again before a new password: when a code is asked for, whom it is sent to, whether it is good.

use std::time::Duration;

use super::error::{Error, Result};
use super::one_time_token::{Slot, TokenHash, is_expired};
use super::policy::{Policy, SecurityPolicy, SmsProvider};
use super::session::Session;
use super::user::{Account, Time};

/// Whom a code is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient<'a> {
    /// The account's confirmed address.
    Email(&'a str),
    /// The account's confirmed number.
    Phone(&'a str),
}

/// Whom a code is sent to: the address if there is one, else the number; either must be confirmed.
pub fn recipient(account: &Account) -> Result<Recipient<'_>> {
    match (&account.email, &account.phone) {
        (Some(email), _) if account.is_email_confirmed() => Ok(Recipient::Email(email)),
        (Some(_), _) => Err(Error::unprocessable("email_not_confirmed", "Please verify your email first.")),
        (None, Some(phone)) if account.is_phone_confirmed() => Ok(Recipient::Phone(phone)),
        (None, Some(_)) => Err(Error::unprocessable("phone_not_confirmed", "Please verify your phone first.")),
        (None, None) => Err(Error::invalid("Reauthentication requires the user to have an email or a phone number")),
    }
}

/// How long a session counts as a fresh sign-in.
const FRESH: Duration = Duration::from_hours(24);

/// Whether a new password needs a code first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// It does not, and a code that is given is not looked at.
    NotNeeded,
    /// The code must be good, and is used up whatever follows.
    Needed,
}

/// Whether a new password needs a code first; 400 `reauthentication_needed` if so and there is none.
pub fn demand(nonce: &str, session: Option<&Session>, policy: &SecurityPolicy, now: Time) -> Result<Demand> {
    let is_fresh = session.is_some_and(|session| now <= session.created_at + FRESH);
    if !policy.update_password_require_reauthentication || is_fresh {
        return Ok(Demand::NotNeeded);
    }
    if nonce.is_empty() {
        return Err(Error::bad_request("reauthentication_needed", "Password update requires reauthentication"));
    }
    Ok(Demand::Needed)
}

/// What is known of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceCheck {
    /// It is good.
    Good,
    /// Twilio Verify made it for the account's number and must be asked.
    AskTwilio,
}

/// Whether the code of a reauthentication is good: that of the address if there is one, else that of the number.
pub fn check_nonce(nonce: &str, account: &Account, policy: &Policy, now: Time) -> Result<NonceCheck> {
    let slot = Slot::Reauthentication;
    if slot.stored(account).is_empty() || slot.sent_at(account).is_none() {
        return Err(invalid_nonce());
    }
    let made_by_twilio = matches!(policy.sms.provider, Some(SmsProvider::TwilioVerify { .. }));
    let (recipient, life) = match (&account.email, &account.phone) {
        (Some(email), _) => (email, policy.mail.otp_exp),
        (None, Some(_)) if made_by_twilio => return Ok(NonceCheck::AskTwilio),
        (None, Some(phone)) => (phone, policy.sms.otp_exp),
        (None, None) => {
            let message = "Reauthentication requires an email or a phone number";
            return Err(Error::unprocessable("reauthentication_not_valid", message));
        }
    };
    let is_good = !is_expired(slot.sent_at(account), life, now)
        && TokenHash::of(recipient, nonce).is_stored_as(slot.stored(account));
    if is_good { Ok(NonceCheck::Good) } else { Err(invalid_nonce()) }
}

/// The one answer to a code that is wrong, too old or used.
pub fn invalid_nonce() -> Error {
    Error::unprocessable("reauthentication_not_valid", "Nonce has expired or is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    fn ann() -> Account {
        Account { email: Some("ann@example.com".into()), phone: Some("15550100".into()), ..Account::default() }
    }

    #[test]
    fn a_code_goes_to_the_address_else_to_the_number() {
        let confirmed = Some(at(0));
        let by_phone = Account { email: None, ..ann() };
        let code = |account: &Account| recipient(account).map(|_| ()).map_err(|error| error.code());
        assert_eq!(code(&ann()), Err("email_not_confirmed"));
        assert_eq!(code(&Account { phone_confirmed_at: confirmed, ..ann() }), Err("email_not_confirmed"));
        assert_eq!(code(&by_phone), Err("phone_not_confirmed"));
        assert_eq!(code(&Account::default()), Err("validation_failed"));
        let mailed = Account { email_confirmed_at: confirmed, ..ann() };
        assert_eq!(recipient(&mailed).unwrap(), Recipient::Email("ann@example.com"));
        let texted = Account { phone_confirmed_at: confirmed, ..by_phone };
        assert_eq!(recipient(&texted).unwrap(), Recipient::Phone("15550100"));
    }

    #[test]
    fn a_code_is_asked_for_after_a_day() {
        let on = SecurityPolicy { update_password_require_reauthentication: true, ..SecurityPolicy::default() };
        let session = Session { created_at: at(0), ..Session::default() };
        let day = 24 * 60 * 60;
        let check = |nonce, session, policy: &SecurityPolicy, now| {
            demand(nonce, session, policy, at(now)).map_err(|error| error.code())
        };
        assert_eq!(check("", Some(&session), &on, day), Ok(Demand::NotNeeded));
        assert_eq!(check("", Some(&session), &on, day + 1), Err("reauthentication_needed"));
        assert_eq!(check("1", Some(&session), &on, day + 1), Ok(Demand::Needed));
        assert_eq!(check("", None, &on, 0), Err("reauthentication_needed"));
        assert_eq!(check("", None, &SecurityPolicy::default(), day * 9), Ok(Demand::NotNeeded));
    }

    #[test]
    fn a_code_is_that_of_the_address_else_of_the_number() {
        let sent = |recipient: &str, account: Account| Account {
            reauthentication_token: TokenHash::of(recipient, "123456").as_str().to_owned(),
            reauthentication_sent_at: Some(at(0)),
            ..account
        };
        let policy = Policy::default();
        let check = |code, account: &Account, seconds| {
            check_nonce(code, account, &policy, at(seconds)).map_err(|error| error.to_string())
        };
        let by_mail = sent("ann@example.com", ann());
        let by_phone = sent("15550100", Account { email: None, ..ann() });
        let invalid = Err("422: Nonce has expired or is invalid".to_owned());
        assert_eq!(check("123456", &by_mail, 24 * 60 * 60), Ok(NonceCheck::Good));
        assert_eq!(check("123456", &by_mail, 24 * 60 * 60 + 1), invalid);
        assert_eq!(check("123457", &by_mail, 0), invalid);
        assert_eq!(check("123456", &by_phone, 60), Ok(NonceCheck::Good));
        assert_eq!(check("123456", &by_phone, 61), invalid);
        assert_eq!(check("123456", &sent("15550100", ann()), 0), invalid);
        assert_eq!(check("", &ann(), 0), invalid);
        assert_eq!(check("1", &Account::default(), 0), invalid);
        let nobody = check("1", &sent("x", Account::default()), 0).unwrap_err();
        assert_eq!(nobody, "422: Reauthentication requires an email or a phone number");
    }
}
