//! Validation of requests for one-time codes and links, in GoTrue's order.
//!
//! User lookups happen elsewhere, between these steps.

use foundation::email::Email;
use foundation::error::{Error, ErrorCode, Result};

use super::contact::{Contact, Phone, SmsChannel};
use super::pkce::validate_challenge_pair;
use super::policy::Policy;
use super::user::User;
use crate::wire::requests::{MagicLinkRequest, OtpRequest, ResendRequest};

/// Validates `POST /otp` before any lookup.
pub fn validate_otp(request: &OtpRequest) -> Result<()> {
    let by_email = !request.email.is_empty();
    if by_email && !request.phone.is_empty() {
        return Err(Error::invalid("Only an email address or phone number should be provided"));
    }
    if by_email && !request.channel.is_empty() {
        return Err(Error::invalid("Channel should only be specified with Phone OTP"));
    }
    validate_challenge_pair(&request.pkce.challenge, &request.pkce.method)
}

/// Returns the contact of `POST /otp`, if there is one; a malformed contact is an error.
pub fn parse_otp_contact(request: &OtpRequest) -> Result<Option<Contact>> {
    Ok(match (request.email.is_empty(), request.phone.is_empty()) {
        (false, _) => Some(Contact::Email(Email::parse(&request.email)?)),
        (true, false) => Some(Contact::Phone(Phone::parse(&request.phone)?)),
        (true, true) => None,
    })
}

/// Error of an unknown contact where no user may be created.
pub fn signup_not_allowed() -> Error {
    Error::new(ErrorCode::OtpDisabled, "Signups not allowed for otp")
}

/// Error of a request without address and number.
pub fn missing_contact() -> Error {
    Error::invalid("One of email or phone must be set")
}

/// Rejects magic links where they are disabled.
pub fn require_magic_links(policy: &Policy) -> Result<()> {
    let refused = |message| Err(Error::http(422, ErrorCode::EmailProviderDisabled, message));
    if !policy.sign_up.email_enabled {
        return refused("Email logins are disabled");
    }
    if !policy.sign_up.magic_link_enabled {
        return refused("Login with magic link is disabled");
    }
    Ok(())
}

pub fn parse_magic_link_recipient(request: &MagicLinkRequest) -> Result<Email> {
    if request.email.is_empty() {
        return Err(Error::http(422, ErrorCode::ValidationFailed, "Password recovery requires an email"));
    }
    let email = Email::parse(&request.email)?;
    validate_challenge_pair(&request.pkce.challenge, &request.pkce.method)?;
    Ok(email)
}

/// Parses the recipient and the channel of an SMS code.
pub fn parse_sms_recipient(phone: &str, channel: &str, policy: &Policy) -> Result<(Phone, SmsChannel)> {
    if !policy.sign_up.phone_enabled {
        return Err(Error::new(ErrorCode::PhoneProviderDisabled, "Unsupported phone provider"));
    }
    let phone = Phone::parse(phone)?;
    let channel = SmsChannel::parse(channel, &policy.sms, policy.hooks.send_sms.is_some())?;
    Ok((phone, channel))
}

/// A message that can be resent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendType {
    /// The confirmation of a new address.
    SignUp,
    /// The messages of an email change.
    EmailChange,
    /// The code of a phone confirmation.
    Sms,
    /// The code of a phone change.
    PhoneChange,
}

impl ResendType {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "signup" => Some(Self::SignUp),
            "email_change" => Some(Self::EmailChange),
            "sms" => Some(Self::Sms),
            "phone_change" => Some(Self::PhoneChange),
            _ => None,
        }
    }

    /// Whether the user still has such a confirmation pending.
    pub fn is_pending(self, user: &User) -> bool {
        match self {
            Self::SignUp => !user.is_email_confirmed(),
            Self::EmailChange => !user.email_change.is_empty(),
            Self::Sms => !user.is_phone_confirmed(),
            Self::PhoneChange => !user.phone_change.is_empty(),
        }
    }
}

/// 400: messages by e-mail are disabled.
pub fn email_logins_disabled() -> Error {
    Error::new(ErrorCode::EmailProviderDisabled, "Email logins are disabled")
}

/// Validates a resend request; the contact is the user's current address or number.
pub fn validate_resend(request: &ResendRequest, policy: &Policy) -> Result<(ResendType, Contact)> {
    let again = ResendType::parse(&request.kind)
        .ok_or_else(|| Error::invalid("Missing one of these types: signup, email_change, sms, phone_change"))?;
    if matches!(again, ResendType::SignUp | ResendType::EmailChange) {
        validate_challenge_pair(&request.pkce.challenge, &request.pkce.method)?;
    }
    match (again, request.email.is_empty(), request.phone.is_empty()) {
        (ResendType::SignUp, true, _) => Err(Error::invalid("Type provided requires an email address")),
        (ResendType::Sms, _, true) => Err(Error::invalid("Type provided requires a phone number")),
        (_, false, false) => Err(Error::invalid("Only an email address or phone number should be provided.")),
        (_, false, true) if !policy.sign_up.email_enabled => Err(email_logins_disabled()),
        (_, false, true) => Ok((again, Contact::Email(Email::parse(&request.email)?))),
        (_, true, false) if !policy.sign_up.phone_enabled => {
            Err(Error::new(ErrorCode::PhoneProviderDisabled, "Phone logins are disabled"))
        }
        (_, true, false) => Ok((again, Contact::Phone(Phone::parse(&request.phone)?))),
        (_, true, true) => Err(Error::invalid("Missing email address or phone number")),
    }
}

#[cfg(test)]
mod tests {
    use foundation::time::Time;

    use super::*;

    fn policy_with_email_and_phone() -> Policy {
        let mut policy = Policy::default();
        policy.sign_up.phone_enabled = true;
        policy
    }

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.map_or_else(|error| error.message().to_owned(), |_| String::new())
    }

    #[test]
    fn first_otp_error_is_reported() {
        let check = |email: &str, phone: &str, channel: &str, challenge: &str| {
            let mut request = OtpRequest::decode(b"{}").unwrap();
            (request.email, request.phone, request.channel) = (email.into(), phone.into(), channel.into());
            request.pkce.challenge = challenge.into();
            message(validate_otp(&request))
        };
        assert_eq!(check("a", "1", "sms", "x"), "Only an email address or phone number should be provided");
        assert_eq!(check("a", "", "sms", "x"), "Channel should only be specified with Phone OTP");
        assert_eq!(check("", "1", "sms", "x"), "PKCE flow requires code_challenge_method and code_challenge");
        assert_eq!(check("", "", "sms", ""), "");
    }

    #[test]
    fn otp_contact_is_email_or_phone_or_none() {
        let named = |body: &str| parse_otp_contact(&OtpRequest::decode(body.as_bytes()).unwrap());
        assert_eq!(named("{}").unwrap(), None);
        assert_eq!(named(r#"{"email":"A@b.c"}"#).unwrap().unwrap().as_str(), "a@b.c");
        assert_eq!(named(r#"{"phone":"+1 555"}"#).unwrap().unwrap().as_str(), "1555");
        assert!(named(r#"{"email":"a"}"#).is_err() && named(r#"{"phone":"a"}"#).is_err());
    }

    #[test]
    fn magic_links_require_both_settings() {
        for (email, links, expected) in [
            (true, true, ""),
            (true, false, "Login with magic link is disabled"),
            (false, true, "Email logins are disabled"),
            (false, false, "Email logins are disabled"),
        ] {
            let mut policy = Policy::default();
            (policy.sign_up.email_enabled, policy.sign_up.magic_link_enabled) = (email, links);
            assert_eq!(message(require_magic_links(&policy)), expected);
        }
    }

    #[test]
    fn magic_link_requires_email_and_complete_pkce_pair() {
        let recipient =
            |body: &str| parse_magic_link_recipient(&MagicLinkRequest::decode(body.as_bytes(), false).unwrap());
        assert_eq!(recipient("{}").unwrap_err().status(), 422);
        assert_eq!(recipient(r#"{"email":"a","code_challenge":"x"}"#).unwrap_err().status(), 400);
        assert!(message(recipient(r#"{"email":"a@b","code_challenge":"x"}"#)).starts_with("PKCE flow requires"));
        assert_eq!(recipient(r#"{"email":"A@b"}"#).unwrap().as_str(), "a@b");
    }

    #[test]
    fn sms_requires_setting_number_and_channel() {
        assert_eq!(message(parse_sms_recipient("x", "pigeon", &Policy::default())), "Unsupported phone provider");
        assert!(
            message(parse_sms_recipient("x", "pigeon", &policy_with_email_and_phone()))
                .starts_with("Invalid phone number format")
        );
        assert!(
            message(parse_sms_recipient("1555", "pigeon", &policy_with_email_and_phone()))
                .starts_with("Invalid channel")
        );
        assert_eq!(parse_sms_recipient("+1555", "", &policy_with_email_and_phone()).unwrap().0.as_str(), "1555");
    }

    #[test]
    fn first_resend_error_is_reported() {
        for (kind, email, phone, expected) in [
            ("recovery", "a@b", "", "Missing one of these types: signup, email_change, sms, phone_change"),
            ("signup", "", "1", "Type provided requires an email address"),
            ("sms", "a@b", "", "Type provided requires a phone number"),
            ("signup", "a@b", "1", "Only an email address or phone number should be provided."),
            ("sms", "a@b", "1", "Only an email address or phone number should be provided."),
            ("email_change", "", "", "Missing email address or phone number"),
            ("phone_change", "", "", "Missing email address or phone number"),
            ("signup", "a", "", "Unable to validate email address: invalid format"),
            ("sms", "", "a", "Invalid phone number format (E.164 required)"),
            ("signup", "a@b", "", ""),
            ("email_change", "", "15", ""),
        ] {
            let request = ResendRequest {
                kind: kind.into(),
                email: email.into(),
                phone: phone.into(),
                ..ResendRequest::default()
            };
            assert_eq!(
                message(validate_resend(&request, &policy_with_email_and_phone())),
                expected,
                "{kind} {email} {phone}"
            );
        }
        let mut off = Policy::default();
        off.sign_up.email_enabled = false;
        for (kind, email, phone, expected) in
            [("signup", "a", "", "Email logins are disabled"), ("sms", "", "a", "Phone logins are disabled")]
        {
            let request = ResendRequest {
                kind: kind.into(),
                email: email.into(),
                phone: phone.into(),
                ..ResendRequest::default()
            };
            assert_eq!(message(validate_resend(&request, &off)), expected);
        }
    }

    #[test]
    fn resend_validates_challenge_only_for_email_types() {
        let request = |kind: &str, email: &str, phone: &str| {
            let mut request = ResendRequest {
                kind: kind.into(),
                email: email.into(),
                phone: phone.into(),
                ..ResendRequest::default()
            };
            request.pkce.challenge = "short".into();
            validate_resend(&request, &policy_with_email_and_phone()).is_ok()
        };
        assert!(!request("signup", "a@b", "") && !request("email_change", "a@b", ""));
        assert!(request("sms", "", "15") && request("phone_change", "", "15"));
    }

    #[test]
    fn completed_confirmation_is_not_pending() {
        let done = Some(Time::UNIX_EPOCH);
        let idle = User { email_confirmed_at: done, phone_confirmed_at: done, ..User::default() };
        let busy = User { email_change: "n@b".into(), phone_change: "1".into(), ..User::default() };
        for again in [ResendType::SignUp, ResendType::EmailChange, ResendType::Sms, ResendType::PhoneChange] {
            assert!(again.is_pending(&busy) && !again.is_pending(&idle), "{again:?}");
        }
    }
}
