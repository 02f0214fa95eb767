//! Password sign-in: lookup of the user and checks before and after the password verification.

use super::contact::{Email, Phone};
use super::error::{Error, ErrorCode, Result};
use super::policy::SignUpPolicy;
use super::user::{Time, User};

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

/// Returns the hash to verify; errors for a missing user, a missing password and a ban.
pub fn hash_to_compare(account: Option<&User>, now: Time) -> Result<&str> {
    let account = account.filter(|account| account.has_password()).ok_or_else(invalid_credentials)?;
    if account.is_banned(now) {
        return Err(Error::http(400, ErrorCode::UserBanned, "User is banned"));
    }
    Ok(account.encrypted_password.as_deref().unwrap_or_default())
}

/// Checks, after the password, that the contact of the identifier is confirmed.
pub fn require_confirmed(account: &User, by: &SignInIdentifier) -> Result<()> {
    match by {
        SignInIdentifier::Email(_) if !account.is_email_confirmed() => {
            Err(Error::new(ErrorCode::EmailNotConfirmed, "Email not confirmed"))
        }
        SignInIdentifier::Phone(_) if !account.is_phone_confirmed() => {
            Err(Error::new(ErrorCode::PhoneNotConfirmed, "Phone not confirmed"))
        }
        SignInIdentifier::Email(_) | SignInIdentifier::Phone(_) => Ok(()),
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
    fn ban_is_reported_before_password_check() {
        let mut account = User { encrypted_password: Some("$2a$".into()), ..User::default() };
        assert_eq!(hash_to_compare(Some(&account), at(0)).unwrap(), "$2a$");
        account.banned_until = Some(at(10));
        assert_eq!(hash_to_compare(Some(&account), at(9)).unwrap_err().code().as_str(), "user_banned");
        assert!(hash_to_compare(Some(&account), at(10)).is_ok());
    }

    #[test]
    fn unknown_user_and_missing_password_have_same_error() {
        for account in
            [None, Some(User::default()), Some(User { encrypted_password: Some(String::new()), ..User::default() })]
        {
            assert_eq!(hash_to_compare(account.as_ref(), at(0)).unwrap_err().code().as_str(), "invalid_credentials");
        }
    }

    #[test]
    fn sign_in_requires_confirmed_contact() {
        let email = SignInIdentifier::Email("a@example.com".into());
        let phone = SignInIdentifier::Phone("1555".into());
        let account = User { phone_confirmed_at: Some(at(1)), ..User::default() };
        assert_eq!(require_confirmed(&account, &email).unwrap_err().code().as_str(), "email_not_confirmed");
        assert!(require_confirmed(&account, &phone).is_ok());
        assert_eq!(require_confirmed(&User::default(), &phone).unwrap_err().code().as_str(), "phone_not_confirmed");
    }
}
