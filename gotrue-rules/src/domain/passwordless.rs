//! Asking for a code or a link: what a request must be, in the recorded order, and whether there is anything to send
//! once more (`endpoints.md` §7.1–7.4). Looking accounts up is elsewhere, between the steps.

use super::contact::{Channel, Contact, Email, Phone};
use super::error::{Error, Result};
use super::pkce::check_pair;
use super::policy::Policy;
use super::user::Account;
use crate::wire::requests::{MagicLink, Otp, Resend};

/// What `POST /otp` refuses before it looks anybody up.
pub fn check_otp(request: &Otp) -> Result<()> {
    let by_email = !request.email.is_empty();
    if by_email && !request.phone.is_empty() {
        return Err(Error::invalid("Only an email address or phone number should be provided"));
    }
    if by_email && !request.channel.is_empty() {
        return Err(Error::invalid("Channel should only be specified with Phone OTP"));
    }
    check_pair(&request.pkce.challenge, &request.pkce.method)
}

/// Whom `POST /otp` names; none if nobody. A malformed address or number is told as such.
pub fn otp_contact(request: &Otp) -> Result<Option<Contact>> {
    Ok(match (request.email.is_empty(), request.phone.is_empty()) {
        (false, _) => Some(Contact::Email(Email::parse(&request.email)?)),
        (true, false) => Some(Contact::Phone(Phone::parse(&request.phone)?)),
        (true, true) => None,
    })
}

/// The refusal where no account may be made for somebody who has none.
pub fn no_new_account() -> Error {
    Error::unprocessable("otp_disabled", "Signups not allowed for otp")
}

/// The refusal of a request that names nobody.
pub fn nobody_named() -> Error {
    Error::invalid("One of email or phone must be set")
}

/// What is refused before a request for a magic link is looked at.
pub fn require_magic_links(policy: &Policy) -> Result<()> {
    let refused = |message| Err(Error::unprocessable("email_provider_disabled", message));
    if !policy.sign_up.email_enabled {
        return refused("Email logins are disabled");
    }
    if !policy.sign_up.magic_link_enabled {
        return refused("Login with magic link is disabled");
    }
    Ok(())
}

/// Who wants a magic link.
pub fn magic_link_recipient(request: &MagicLink) -> Result<Email> {
    if request.email.is_empty() {
        return Err(Error::unprocessable("validation_failed", "Password recovery requires an email"));
    }
    let email = Email::parse(&request.email)?;
    check_pair(&request.pkce.challenge, &request.pkce.method)?;
    Ok(email)
}

/// Who wants a code by text, and which way it goes.
pub fn text_recipient(phone: &str, channel: &str, policy: &Policy) -> Result<(Phone, Channel)> {
    if !policy.sign_up.phone_enabled {
        return Err(Error::bad_request("phone_provider_disabled", "Unsupported phone provider"));
    }
    let phone = Phone::parse(phone)?;
    let channel = Channel::parse(channel, &policy.sms, policy.hooks.send_sms.is_some())?;
    Ok((phone, channel))
}

/// What can be sent once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The confirmation of a new account's address.
    SignUp,
    /// The mails of a change of address.
    EmailChange,
    /// The code for a number.
    Sms,
    /// The code for a new number.
    PhoneChange,
}

impl Again {
    fn from_word(word: &str) -> Option<Self> {
        match word {
            "signup" => Some(Self::SignUp),
            "email_change" => Some(Self::EmailChange),
            "sms" => Some(Self::Sms),
            "phone_change" => Some(Self::PhoneChange),
            _ => None,
        }
    }

    /// Whether the account still waits for it.
    pub fn is_awaited(self, account: &Account) -> bool {
        match self {
            Self::SignUp => !account.is_email_confirmed(),
            Self::EmailChange => !account.email_change.is_empty(),
            Self::Sms => !account.is_phone_confirmed(),
            Self::PhoneChange => !account.phone_change.is_empty(),
        }
    }
}

/// What is to be sent once more, and by whom the account is found: for a change, its current address or number.
pub fn resend(request: &Resend, policy: &Policy) -> Result<(Again, Contact)> {
    let again = Again::from_word(&request.kind)
        .ok_or_else(|| Error::invalid("Missing one of these types: signup, email_change, sms, phone_change"))?;
    if matches!(again, Again::SignUp | Again::EmailChange) {
        check_pair(&request.pkce.challenge, &request.pkce.method)?;
    }
    match (again, request.email.is_empty(), request.phone.is_empty()) {
        (Again::SignUp, true, _) => Err(Error::invalid("Type provided requires an email address")),
        (Again::Sms, _, true) => Err(Error::invalid("Type provided requires a phone number")),
        (_, false, false) => Err(Error::invalid("Only an email address or phone number should be provided.")),
        (_, false, true) if !policy.sign_up.email_enabled => {
            Err(Error::bad_request("email_provider_disabled", "Email logins are disabled"))
        }
        (_, false, true) => Ok((again, Contact::Email(Email::parse(&request.email)?))),
        (_, true, false) if !policy.sign_up.phone_enabled => {
            Err(Error::bad_request("phone_provider_disabled", "Phone logins are disabled"))
        }
        (_, true, false) => Ok((again, Contact::Phone(Phone::parse(&request.phone)?))),
        (_, true, true) => Err(Error::invalid("Missing email address or phone number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::user::Time;

    fn both_on() -> Policy {
        let mut policy = Policy::default();
        policy.sign_up.phone_enabled = true;
        policy
    }

    fn said<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.map_or_else(|error| error.message().to_owned(), |_| String::new())
    }

    #[test]
    fn the_first_complaint_about_a_code_wins() {
        let asked = |email: &str, phone: &str, channel: &str, challenge: &str| {
            let mut request = Otp::decode(b"{}").unwrap();
            (request.email, request.phone, request.channel) = (email.into(), phone.into(), channel.into());
            request.pkce.challenge = challenge.into();
            said(check_otp(&request))
        };
        assert_eq!(asked("a", "1", "sms", "x"), "Only an email address or phone number should be provided");
        assert_eq!(asked("a", "", "sms", "x"), "Channel should only be specified with Phone OTP");
        assert_eq!(asked("", "1", "sms", "x"), "PKCE flow requires code_challenge_method and code_challenge");
        assert_eq!(asked("", "", "sms", ""), "");
    }

    #[test]
    fn a_request_names_an_address_a_number_or_nobody() {
        let named = |body: &str| otp_contact(&Otp::decode(body.as_bytes()).unwrap());
        assert_eq!(named("{}").unwrap(), None);
        assert_eq!(named(r#"{"email":"A@b.c"}"#).unwrap().unwrap().as_str(), "a@b.c");
        assert_eq!(named(r#"{"phone":"+1 555"}"#).unwrap().unwrap().as_str(), "1555");
        assert!(named(r#"{"email":"a"}"#).is_err() && named(r#"{"phone":"a"}"#).is_err());
    }

    #[test]
    fn magic_links_need_both_switches() {
        for (email, links, message) in [
            (true, true, ""),
            (true, false, "Login with magic link is disabled"),
            (false, true, "Email logins are disabled"),
            (false, false, "Email logins are disabled"),
        ] {
            let mut policy = Policy::default();
            (policy.sign_up.email_enabled, policy.sign_up.magic_link_enabled) = (email, links);
            assert_eq!(said(require_magic_links(&policy)), message);
        }
    }

    #[test]
    fn a_magic_link_needs_an_address_then_a_whole_pair() {
        let asked = |body: &str| magic_link_recipient(&MagicLink::decode(body.as_bytes(), false).unwrap());
        assert_eq!(asked("{}").unwrap_err().status(), 422);
        assert_eq!(asked(r#"{"email":"a","code_challenge":"x"}"#).unwrap_err().status(), 400);
        assert!(said(asked(r#"{"email":"a@b","code_challenge":"x"}"#)).starts_with("PKCE flow requires"));
        assert_eq!(asked(r#"{"email":"A@b"}"#).unwrap().as_str(), "a@b");
    }

    #[test]
    fn a_text_needs_the_switch_then_a_number_then_a_channel() {
        assert_eq!(said(text_recipient("x", "pigeon", &Policy::default())), "Unsupported phone provider");
        assert!(said(text_recipient("x", "pigeon", &both_on())).starts_with("Invalid phone number format"));
        assert!(said(text_recipient("1555", "pigeon", &both_on())).starts_with("Invalid channel"));
        assert_eq!(text_recipient("+1555", "", &both_on()).unwrap().0.as_str(), "1555");
    }

    #[test]
    fn the_first_complaint_about_a_repetition_wins() {
        for (kind, email, phone, message) in [
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
            let request = Resend { kind: kind.into(), email: email.into(), phone: phone.into(), ..Resend::default() };
            assert_eq!(said(resend(&request, &both_on())), message, "{kind} {email} {phone}");
        }
        let mut off = Policy::default();
        off.sign_up.email_enabled = false;
        for (kind, email, phone, message) in
            [("signup", "a", "", "Email logins are disabled"), ("sms", "", "a", "Phone logins are disabled")]
        {
            let request = Resend { kind: kind.into(), email: email.into(), phone: phone.into(), ..Resend::default() };
            assert_eq!(said(resend(&request, &off)), message);
        }
    }

    #[test]
    fn only_types_that_are_mailed_look_at_the_challenge() {
        let request = |kind: &str, email: &str, phone: &str| {
            let mut request =
                Resend { kind: kind.into(), email: email.into(), phone: phone.into(), ..Resend::default() };
            request.pkce.challenge = "short".into();
            resend(&request, &both_on()).is_ok()
        };
        assert!(!request("signup", "a@b", "") && !request("email_change", "a@b", ""));
        assert!(request("sms", "", "15") && request("phone_change", "", "15"));
    }

    #[test]
    fn what_is_done_is_not_awaited() {
        let done = Some(Time::UNIX_EPOCH);
        let idle = Account { email_confirmed_at: done, phone_confirmed_at: done, ..Account::default() };
        let busy = Account { email_change: "n@b".into(), phone_change: "1".into(), ..Account::default() };
        for again in [Again::SignUp, Again::EmailChange, Again::Sms, Again::PhoneChange] {
            assert!(again.is_awaited(&busy) && !again.is_awaited(&idle), "{again:?}");
        }
    }
}
