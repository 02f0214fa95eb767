//! Signing in with a password: who is meant, and whether the account may come in. The password itself is compared
//! elsewhere, between the two.

use super::contact::{Email, Phone};
use super::error::{Error, Result};
use super::policy::SignUpPolicy;
use super::user::{Account, Time};

/// What an account is looked up by; not checked for form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// An address in lower case.
    Email(String),
    /// A number without `+` and spaces.
    Phone(String),
}

impl By {
    /// Whom a request means: both is 400, a provider that is off 422, neither 400.
    pub fn of(email: &str, phone: &str, policy: &SignUpPolicy) -> Result<Self> {
        match (email.is_empty(), phone.is_empty()) {
            (false, false) => Err(Error::invalid("Only an email address or phone number should be provided on login.")),
            (false, true) if !policy.email_enabled => {
                Err(Error::unprocessable("email_provider_disabled", "Email logins are disabled"))
            }
            (false, true) => Ok(Self::Email(Email::lookup_form(email))),
            (true, false) if !policy.phone_enabled => {
                Err(Error::unprocessable("phone_provider_disabled", "Phone logins are disabled"))
            }
            (true, false) => Ok(Self::Phone(Phone::lookup_form(phone))),
            (true, true) => Err(Error::invalid("missing email or phone")),
        }
    }

    /// The address or the digits.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Email(named) | Self::Phone(named) => named,
        }
    }

    /// The provider, as the audit log names it.
    pub fn provider(&self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Phone(_) => "phone",
        }
    }
}

/// The one answer to a wrong password, an unknown account and an account without a password.
pub fn invalid_credentials() -> Error {
    Error::bad_request("invalid_credentials", "Invalid login credentials")
}

/// The stored hash to compare with, once the account is known to have one and not to be banned.
pub fn hash_to_compare(account: Option<&Account>, now: Time) -> Result<&str> {
    let account = account.filter(|account| account.has_password()).ok_or_else(invalid_credentials)?;
    if account.is_banned(now) {
        return Err(Error::bad_request("user_banned", "User is banned"));
    }
    Ok(account.encrypted_password.as_deref().unwrap_or_default())
}

/// Whether the owner of a right password may come in: what they signed in by must be confirmed.
pub fn admit(account: &Account, by: &By) -> Result<()> {
    match by {
        By::Email(_) if !account.is_email_confirmed() => {
            Err(Error::bad_request("email_not_confirmed", "Email not confirmed"))
        }
        By::Phone(_) if !account.is_phone_confirmed() => {
            Err(Error::bad_request("phone_not_confirmed", "Phone not confirmed"))
        }
        By::Email(_) | By::Phone(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn a_request_names_one_account_by_a_provider_that_is_on() {
        let on = SignUpPolicy { phone_enabled: true, ..SignUpPolicy::default() };
        let off = SignUpPolicy { email_enabled: false, phone_enabled: false, ..SignUpPolicy::default() };
        assert_eq!(By::of("Ann@Example.com", "", &on).unwrap(), By::Email("ann@example.com".into()));
        assert_eq!(By::of("", "+1 555", &on).unwrap(), By::Phone("1555".into()));
        for (email, phone, policy, code) in [
            ("a@example.com", "1555", &on, "validation_failed"),
            ("", "", &on, "validation_failed"),
            ("a@example.com", "", &off, "email_provider_disabled"),
            ("", "1555", &off, "phone_provider_disabled"),
            ("", "", &off, "validation_failed"),
        ] {
            assert_eq!(By::of(email, phone, policy).unwrap_err().code(), code, "{email} {phone}");
        }
    }

    #[test]
    fn a_ban_is_told_before_the_password_is_compared() {
        let mut account = Account { encrypted_password: Some("$2a$".into()), ..Account::default() };
        assert_eq!(hash_to_compare(Some(&account), at(0)).unwrap(), "$2a$");
        account.banned_until = Some(at(10));
        assert_eq!(hash_to_compare(Some(&account), at(9)).unwrap_err().code(), "user_banned");
        assert!(hash_to_compare(Some(&account), at(10)).is_ok());
    }

    #[test]
    fn no_account_and_no_password_look_alike() {
        for account in [
            None,
            Some(Account::default()),
            Some(Account { encrypted_password: Some(String::new()), ..Account::default() }),
        ] {
            assert_eq!(hash_to_compare(account.as_ref(), at(0)).unwrap_err().code(), "invalid_credentials");
        }
    }

    #[test]
    fn what_is_signed_in_by_must_be_confirmed() {
        let email = By::Email("a@example.com".into());
        let phone = By::Phone("1555".into());
        let account = Account { phone_confirmed_at: Some(at(1)), ..Account::default() };
        assert_eq!(admit(&account, &email).unwrap_err().code(), "email_not_confirmed");
        assert!(admit(&account, &phone).is_ok());
        assert_eq!(admit(&Account::default(), &phone).unwrap_err().code(), "phone_not_confirmed");
    }
}
