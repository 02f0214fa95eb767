//! E-mail addresses and phone numbers. Only validated ones are stored; lookups accept any text.

use foundation::error::{Error, Result};

use super::policy::SmsPolicy;

/// A validated e-mail address in lower case, at most 255 bytes of ASCII.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Email(String);

impl Email {
    /// Validates an address; 400 `validation_failed` if it is missing, too long or malformed.
    pub fn parse(address: &str) -> Result<Self> {
        if address.is_empty() {
            return Err(Error::invalid("An email address is required"));
        }
        if address.len() > 255 {
            return Err(Error::invalid("An email address is too long"));
        }
        if !is_valid_email(address) {
            return Err(Error::invalid("Unable to validate email address: invalid format"));
        }
        Ok(Self(address.to_ascii_lowercase()))
    }

    /// Normalizes an unvalidated address for a lookup: lower case by Go's rules.
    pub fn normalize_for_lookup(address: &str) -> String {
        address.chars().map(to_lower_go).collect()
    }

    /// Returns the mailbox for rate limits: without `+tag`, and without dots for Google addresses.
    /// It is never stored and never used for lookups.
    pub fn rate_limit_key(&self) -> String {
        let (local, domain) = self.0.split_once('@').unwrap_or((&self.0, ""));
        let bare = local.split('+').next().filter(|bare| !bare.is_empty()).unwrap_or(local);
        match domain {
            "gmail.com" | "googlemail.com" => format!("{}@gmail.com", bare.replace('.', "")),
            _ => format!("{bare}@{domain}"),
        }
    }

    /// Returns the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts into the address.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// A validated phone number: 2 to 15 digits, the first not 0, without `+`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Phone(String);

impl Phone {
    /// Validates a number; 400 `validation_failed` if it is not an E.164 number.
    /// One leading `+`, and spaces anywhere, are ignored.
    pub fn parse(number: &str) -> Result<Self> {
        let digits = Self::normalize_for_lookup(number);
        let e164 = (2..=15).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0');
        if !e164 {
            return Err(Error::invalid("Invalid phone number format (E.164 required)"));
        }
        Ok(Self(digits))
    }

    /// Normalizes an unvalidated number for a lookup: without one leading `+` and without spaces.
    pub fn normalize_for_lookup(number: &str) -> String {
        number.strip_prefix('+').unwrap_or(number).replace(' ', "")
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts into the digits.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// An e-mail address or a phone number of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contact {
    /// An e-mail address.
    Email(Email),
    /// A phone number.
    Phone(Phone),
}

impl Contact {
    /// Returns the provider of the identity of this contact.
    pub fn provider(&self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Phone(_) => "phone",
        }
    }

    /// The address or the digits.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Email(email) => email.as_str(),
            Self::Phone(phone) => phone.as_str(),
        }
    }
}

/// The channel of an SMS message: `sms`, `whatsapp`, or any word that the send-SMS hook supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmsChannel(String);

impl SmsChannel {
    /// Validates a channel; 400 `validation_failed` if the SMS provider does not support it.
    /// Empty means `sms`. With the send-SMS hook every channel is valid.
    pub fn parse(channel: &str, sms: &SmsPolicy, hook_is_on: bool) -> Result<Self> {
        let twilio = matches!(sms.provider_name.as_str(), "twilio" | "twilio_verify");
        match channel {
            "" | "sms" => Ok(Self::default()),
            "whatsapp" if twilio => Ok(Self(channel.to_owned())),
            _ if hook_is_on => Ok(Self(channel.to_owned())),
            _ => Err(Error::invalid(
                "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or \
                 Twilio Verify is used as the provider.",
            )),
        }
    }

    /// Returns the channel name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SmsChannel {
    fn default() -> Self {
        Self("sms".to_owned())
    }
}

/// Converts one character to one lower-case character, as Go's `strings.ToLower` does.
fn to_lower_go(character: char) -> char {
    match character {
        'İ' => 'i',
        other => other.to_lowercase().next().unwrap_or(other),
    }
}

/// Whether the address has the e-mail form of HTML 5: local part, then labels of at most 63 characters.
fn is_valid_email(address: &str) -> bool {
    let Some((local, domain)) = address.split_once('@') else { return false };
    let local_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    !local.is_empty() && local.bytes().all(local_byte) && domain.split('.').all(is_valid_label)
}

fn is_valid_label(label: &str) -> bool {
    let edges = !label.starts_with('-') && !label.ends_with('-');
    (1..=63).contains(&label.len()) && edges && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMAT: &str = "Unable to validate email address: invalid format";

    #[test]
    fn rate_limit_key_ignores_tags_and_google_dots() {
        for (address, mailbox) in [
            ("ann@example.com", "ann@example.com"),
            ("Ann+shop@example.com", "ann@example.com"),
            ("ann+a+b@example.com", "ann@example.com"),
            ("a.n.n@example.com", "a.n.n@example.com"),
            ("a.n.n+x@gmail.com", "ann@gmail.com"),
            ("A.nn@googlemail.com", "ann@gmail.com"),
            ("+x@example.com", "+x@example.com"),
        ] {
            assert_eq!(Email::parse(address).unwrap().rate_limit_key(), mailbox, "{address}");
        }
    }

    #[test]
    fn emails_are_validated_and_lowercased() {
        for (given, kept) in [
            ("Ann.Upper@EXAMPLE.com", "ann.upper@example.com"),
            ("ann+list.o'hara@localhost", "ann+list.o'hara@localhost"),
            (".ann.@example.com", ".ann.@example.com"),
            ("a..b@x", "a..b@x"),
            ("!#$%&'*+/=?^_`{|}~-@a-b.c0", "!#$%&'*+/=?^_`{|}~-@a-b.c0"),
        ] {
            assert_eq!(Email::parse(given).unwrap().as_str(), kept);
        }
    }

    #[test]
    fn malformed_emails_are_rejected() {
        let long = format!("{}@example.com", "a".repeat(250));
        let label = format!("a@{}.com", "b".repeat(64));
        for (given, message) in [
            ("", "An email address is required"),
            (long.as_str(), "An email address is too long"),
            (label.as_str(), FORMAT),
            ("ann", FORMAT),
            ("ann@", FORMAT),
            ("@example.com", FORMAT),
            ("ann example@example.com", FORMAT),
            ("ann@exa mple.com", FORMAT),
            ("ann@example..com", FORMAT),
            ("ann@example.com.", FORMAT),
            ("ann@-example.com", FORMAT),
            ("ann@example-.com", FORMAT),
            ("ann@example.com\n", FORMAT),
            (" ann@example.com", FORMAT),
            ("ann@@example.com", FORMAT),
            ("jürgen@example.com", FORMAT),
            ("ann@exämple.com", FORMAT),
            ("ann\0@example.com", FORMAT),
            ("\"ann\"@example.com", FORMAT),
        ] {
            let refused = Email::parse(given).unwrap_err();
            assert_eq!((refused.code().as_str(), refused.message()), ("validation_failed", message), "{given:?}");
        }
    }

    #[test]
    fn email_of_255_bytes_is_accepted() {
        assert!(Email::parse(&format!("{}@example.com", "a".repeat(243))).is_ok());
        assert!(Email::parse(&format!("{}@example.com", "a".repeat(244))).is_err());
    }

    /// Lookups fold look-alike letters to ASCII, as GoTrue does; stored addresses reject them.
    #[test]
    fn non_ascii_characters_that_fold_to_ascii_are_rejected() {
        for given in [
            "\u{212a}im@example.com",
            "ann@example.\u{212a}om",
            "ad\u{130}@example.com",
            "ﬁn@example.com",
            "a\u{ff41}@example.com",
            "ann@ex\u{430}mple.com",
            "ann\u{200b}@example.com",
            "a\u{301}nn@example.com",
        ] {
            assert!(Email::parse(given).is_err(), "{given:?}");
        }
        assert_eq!(Email::normalize_for_lookup("\u{212a}im@example.com"), "kim@example.com");
        assert_eq!(Email::normalize_for_lookup("AD\u{130}@EXAMPLE.COM"), "adi@example.com");
        assert_eq!(Email::normalize_for_lookup("ΑΣ"), "ας".replace('ς', "σ"));
        assert_eq!(Email::normalize_for_lookup("ann\u{200b}@example.com"), "ann\u{200b}@example.com");
    }

    #[test]
    fn phone_parsing_strips_plus_and_spaces() {
        for (given, kept) in [("+1 555 01", "155501"), ("15550100", "15550100"), ("+ 49 1", "491"), ("12", "12")] {
            assert_eq!(Phone::parse(given).unwrap().as_str(), kept, "{given:?}");
        }
    }

    #[test]
    fn non_e164_numbers_are_rejected() {
        for given in
            ["", "+", "1", "0155501000", "call me", "1111111111111111", "++15550100", "1-555", "15550١٠", "1\t5550"]
        {
            let refused = Phone::parse(given).unwrap_err();
            assert_eq!(refused.message(), "Invalid phone number format (E.164 required)", "{given:?}");
        }
    }

    #[test]
    fn channel_must_be_supported_by_sms_provider() {
        let none = SmsPolicy::default();
        let twilio = SmsPolicy { provider_name: "twilio_verify".into(), ..SmsPolicy::default() };
        assert_eq!(SmsChannel::parse("", &none, false).unwrap().as_str(), "sms");
        assert_eq!(SmsChannel::parse("sms", &none, false).unwrap().as_str(), "sms");
        assert!(SmsChannel::parse("whatsapp", &none, false).is_err());
        assert_eq!(SmsChannel::parse("whatsapp", &twilio, false).unwrap().as_str(), "whatsapp");
        assert!(SmsChannel::parse("pigeon", &twilio, false).is_err());
        assert_eq!(SmsChannel::parse("pigeon", &none, true).unwrap().as_str(), "pigeon");
    }

    #[test]
    fn contact_provider_is_email_or_phone() {
        let email = Contact::Email(Email::parse("a@b").unwrap());
        let phone = Contact::Phone(Phone::parse("12").unwrap());
        assert_eq!(
            (email.provider(), email.as_str(), phone.provider(), phone.as_str()),
            ("email", "a@b", "phone", "12")
        );
    }

    proptest! {
        #[test]
        fn parsing_is_idempotent(text in any::<String>()) {
            if let Ok(email) = Email::parse(&text) {
                prop_assert!(email.as_str().is_ascii());
                prop_assert_eq!(Email::parse(email.as_str()).unwrap(), email.clone());
                prop_assert_eq!(Email::normalize_for_lookup(&text), email.as_str());
            }
            if let Ok(phone) = Phone::parse(&text) {
                prop_assert_eq!(Phone::parse(phone.as_str()).unwrap(), phone);
            }
        }
    }
}
