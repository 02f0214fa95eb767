//! Password sign-in: the identifier, and the decision before and after the password is compared.

use foundation::email::Email;
use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;

use super::ban::{BannedAttempt, require_not_banned};
use super::contact::Phone;
use super::policy::SignUpPolicy;
use super::user::User;

/// The identifier for the user lookup; not validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInIdentifier {
    /// An address in lower case.
    Email(String),
    /// A number without `+` and spaces.
    Phone(String),
}

impl SignInIdentifier {
    /// Selects the identifier: 400 for both or neither, 422 for a disabled provider.
    pub fn parse(email: &str, phone: &str, policy: &SignUpPolicy) -> Result<Self> {
        match (email.is_empty(), phone.is_empty()) {
            (false, false) => Err(Error::invalid("Only an email address or phone number should be provided on login.")),
            (false, true) if !policy.email_enabled => {
                Err(Error::http(422, ErrorCode::EmailProviderDisabled, "Email logins are disabled"))
            }
            (false, true) => Ok(Self::Email(Email::normalize_for_lookup(email))),
            (true, false) if !policy.phone_enabled => {
                Err(Error::http(422, ErrorCode::PhoneProviderDisabled, "Phone logins are disabled"))
            }
            (true, false) => Ok(Self::Phone(Phone::normalize_for_lookup(phone))),
            (true, true) => Err(Error::invalid("missing email or phone")),
        }
    }

    /// Returns the address or the digits.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Email(named) | Self::Phone(named) => named,
        }
    }

    /// Returns the provider for the audit log.
    pub fn provider(&self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Phone(_) => "phone",
        }
    }
}

/// Error of a wrong password, an unknown user and a user without a password.
pub fn invalid_credentials() -> Error {
    Error::new(ErrorCode::InvalidCredentials, "Invalid login credentials")
}

/// Decision about a password sign-in.
#[derive(Debug, Clone, PartialEq)]
pub enum SignInDecision<'a> {
    /// No user has the identifier, or the user has no password.
    ///
    /// The response costs the work of a comparison.
    NoPassword,
    /// A ban is in force. It is reported before the password is compared.
    Banned,
    /// The password must be compared with this hash.
    Compare {
        user: &'a User,
        /// The stored hash.
        hash: &'a str,
    },
    WrongPassword,
    /// The password is right, the address is not confirmed.
    EmailNotConfirmed,
    /// The password is right, the number is not confirmed.
    PhoneNotConfirmed,
    /// A session is created.
    SignIn,
}

impl SignInDecision<'_> {
    /// Returns the error of a refused sign-in; a password that was not compared is refused as a wrong one.
    pub fn error(&self) -> Error {
        match self {
            Self::Banned => BannedAttempt::PasswordSignIn.error(),
            Self::EmailNotConfirmed => Error::new(ErrorCode::EmailNotConfirmed, "Email not confirmed"),
            Self::PhoneNotConfirmed => Error::new(ErrorCode::PhoneNotConfirmed, "Phone not confirmed"),
            Self::NoPassword | Self::WrongPassword | Self::Compare { .. } | Self::SignIn => invalid_credentials(),
        }
    }
}

/// Decides about a password sign-in of the user with this identifier.
/// `is_correct` is the result of the comparison; `None` before it. With `is_ban_confidential` only the right password
/// tells that the user is banned.
pub fn decide<'a>(
    user: Option<&'a User>,
    by: &SignInIdentifier,
    is_correct: Option<bool>,
    is_ban_confidential: bool,
    now: Time,
) -> SignInDecision<'a> {
    let Some(user) = user.filter(|user| user.has_password()) else { return SignInDecision::NoPassword };
    let is_ban_disclosed = !is_ban_confidential || is_correct == Some(true);
    if is_ban_disclosed && require_not_banned(user, BannedAttempt::PasswordSignIn, now).is_err() {
        return SignInDecision::Banned;
    }
    match (is_correct, by) {
        (None, _) => SignInDecision::Compare { user, hash: user.encrypted_password.as_deref().unwrap_or_default() },
        (Some(false), _) => SignInDecision::WrongPassword,
        (Some(true), SignInIdentifier::Email(_)) if !user.is_email_confirmed() => SignInDecision::EmailNotConfirmed,
        (Some(true), SignInIdentifier::Phone(_)) if !user.is_phone_confirmed() => SignInDecision::PhoneNotConfirmed,
        (Some(true), SignInIdentifier::Email(_) | SignInIdentifier::Phone(_)) => SignInDecision::SignIn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn sign_in_requires_one_identifier_of_enabled_provider() {
        let on = SignUpPolicy { phone_enabled: true, ..SignUpPolicy::default() };
        let off = SignUpPolicy { email_enabled: false, phone_enabled: false, ..SignUpPolicy::default() };
        assert_eq!(
            SignInIdentifier::parse("Ann@Example.com", "", &on).unwrap(),
            SignInIdentifier::Email("ann@example.com".into())
        );
        assert_eq!(SignInIdentifier::parse("", "+1 555", &on).unwrap(), SignInIdentifier::Phone("1555".into()));
        for (email, phone, policy, code) in [
            ("a@example.com", "1555", &on, "validation_failed"),
            ("", "", &on, "validation_failed"),
            ("a@example.com", "", &off, "email_provider_disabled"),
            ("", "1555", &off, "phone_provider_disabled"),
            ("", "", &off, "validation_failed"),
        ] {
            assert_eq!(
                SignInIdentifier::parse(email, phone, policy).unwrap_err().code().as_str(),
                code,
                "{email} {phone}"
            );
        }
    }

    #[test]
    fn sign_in_decisions() {
        let (email, phone) =
            (SignInIdentifier::Email("a@example.com".into()), SignInIdentifier::Phone("15550100".into()));
        let with_password = User { encrypted_password: Some("$2a$".into()), ..User::default() };
        let empty_password = User { encrypted_password: Some(String::new()), ..User::default() };
        let banned = User { banned_until: Some(at(10)), ..with_password.clone() };
        let banned_without_password = User { banned_until: Some(at(10)), ..User::default() };
        let by_email = User { email_confirmed_at: Some(at(1)), ..with_password.clone() };
        let by_phone = User { phone_confirmed_at: Some(at(1)), ..with_password.clone() };
        let compare = |user| SignInDecision::Compare { user, hash: "$2a$" };
        for (user, by, is_correct, now, decision) in [
            (None, &email, None, 0, SignInDecision::NoPassword),
            (Some(&User::default()), &email, None, 0, SignInDecision::NoPassword),
            (Some(&empty_password), &phone, Some(true), 0, SignInDecision::NoPassword),
            (Some(&banned_without_password), &email, None, 0, SignInDecision::NoPassword),
            (Some(&banned), &email, None, 9, SignInDecision::Banned),
            (Some(&banned), &email, Some(true), 9, SignInDecision::Banned),
            (Some(&banned), &email, None, 10, compare(&banned)),
            (Some(&with_password), &phone, None, 0, compare(&with_password)),
            (Some(&with_password), &email, Some(false), 0, SignInDecision::WrongPassword),
            (Some(&by_email), &email, Some(false), 0, SignInDecision::WrongPassword),
            (Some(&with_password), &email, Some(true), 0, SignInDecision::EmailNotConfirmed),
            (Some(&by_phone), &email, Some(true), 0, SignInDecision::EmailNotConfirmed),
            (Some(&with_password), &phone, Some(true), 0, SignInDecision::PhoneNotConfirmed),
            (Some(&by_email), &phone, Some(true), 0, SignInDecision::PhoneNotConfirmed),
            (Some(&by_email), &email, Some(true), 0, SignInDecision::SignIn),
            (Some(&by_phone), &phone, Some(true), 0, SignInDecision::SignIn),
        ] {
            let decided = decide(user, by, is_correct, false, at(now));
            assert_eq!(decided, decision, "{user:?} {by:?} {is_correct:?} {now}");
        }
        for (is_correct, decision) in [
            (None, compare(&banned)),
            (Some(false), SignInDecision::WrongPassword),
            (Some(true), SignInDecision::Banned),
        ] {
            assert_eq!(decide(Some(&banned), &email, is_correct, true, at(9)), decision, "{is_correct:?}");
        }
    }

    #[test]
    fn only_ban_and_missing_confirmation_have_other_codes() {
        let user = User::default();
        for (decision, code) in [
            (SignInDecision::NoPassword, "invalid_credentials"),
            (SignInDecision::WrongPassword, "invalid_credentials"),
            (SignInDecision::Compare { user: &user, hash: "" }, "invalid_credentials"),
            (SignInDecision::Banned, "user_banned"),
            (SignInDecision::EmailNotConfirmed, "email_not_confirmed"),
            (SignInDecision::PhoneNotConfirmed, "phone_not_confirmed"),
        ] {
            assert_eq!((decision.error().status(), decision.error().code().as_str()), (400, code), "{decision:?}");
        }
    }
}
