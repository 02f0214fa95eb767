//! Addresses and numbers: what a request names an account by. What is checked here may be stored; what only looks
//! something up need not pass the checks.

use super::error::{Error, Result};
use super::policy::SmsPolicy;

/// A checked e-mail address in lower case, at most 255 bytes of ASCII.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Email(String);

impl Email {
    /// Checks an address; 400 `validation_failed` if it is missing, too long or malformed.
    pub fn parse(address: &str) -> Result<Self> {
        if address.is_empty() {
            return Err(Error::invalid("An email address is required"));
        }
        if address.len() > 255 {
            return Err(Error::invalid("An email address is too long"));
        }
        if !is_address(address) {
            return Err(Error::invalid("Unable to validate email address: invalid format"));
        }
        Ok(Self(address.to_ascii_lowercase()))
    }

    /// What an unchecked address is looked up as: in lower case, letter by letter as Go does it.
    pub fn lookup_form(address: &str) -> String {
        address.chars().map(lower).collect()
    }

    /// The mailbox behind the address, as far as can be told: without what stands after a `+`, and without dots where
    /// Google ignores them. Limits count by it; it is never stored and looks nothing up.
    pub fn mailbox(&self) -> String {
        let (local, domain) = self.0.split_once('@').unwrap_or((&self.0, ""));
        let bare = local.split('+').next().filter(|bare| !bare.is_empty()).unwrap_or(local);
        match domain {
            "gmail.com" | "googlemail.com" => format!("{}@gmail.com", bare.replace('.', "")),
            _ => format!("{bare}@{domain}"),
        }
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address itself.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// A checked phone number: 2 to 15 digits, the first not 0, without `+`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Phone(String);

impl Phone {
    /// Checks a number, which may have one `+` in front and spaces anywhere; 400 `validation_failed` if it is no
    /// E.164 number.
    pub fn parse(number: &str) -> Result<Self> {
        let digits = Self::lookup_form(number);
        let e164 = (2..=15).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0');
        if !e164 {
            return Err(Error::invalid("Invalid phone number format (E.164 required)"));
        }
        Ok(Self(digits))
    }

    /// What an unchecked number is looked up as: without one `+` in front and without spaces.
    pub fn lookup_form(number: &str) -> String {
        number.strip_prefix('+').unwrap_or(number).replace(' ', "")
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits themselves.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// What an account is reached by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contact {
    /// An e-mail address.
    Email(Email),
    /// A phone number.
    Phone(Phone),
}

impl Contact {
    /// The provider of the identity that belongs to it.
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

/// How a text reaches a phone: `sms`, `whatsapp`, or whatever a hook understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel(String);

impl Channel {
    /// Checks a channel, `""` meaning `sms`; 400 `validation_failed` if the sender does not have it. With the
    /// send-SMS hook on any channel goes.
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

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Channel {
    fn default() -> Self {
        Self("sms".to_owned())
    }
}

/// One letter in lower case, one for one, as Go's `strings.ToLower` does it.
fn lower(letter: char) -> char {
    match letter {
        'İ' => 'i',
        other => other.to_lowercase().next().unwrap_or(other),
    }
}

/// The e-mail form of HTML 5: a local part of certain characters, then labels of at most 63 joined by dots.
fn is_address(address: &str) -> bool {
    let Some((local, domain)) = address.split_once('@') else { return false };
    let local_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    !local.is_empty() && local.bytes().all(local_byte) && domain.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let edges = !label.starts_with('-') && !label.ends_with('-');
    (1..=63).contains(&label.len()) && edges && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMAT: &str = "Unable to validate email address: invalid format";

    #[test]
    fn a_mailbox_is_one_whatever_is_added_to_its_address() {
        for (address, mailbox) in [
            ("ann@example.com", "ann@example.com"),
            ("Ann+shop@example.com", "ann@example.com"),
            ("ann+a+b@example.com", "ann@example.com"),
            ("a.n.n@example.com", "a.n.n@example.com"),
            ("a.n.n+x@gmail.com", "ann@gmail.com"),
            ("A.nn@googlemail.com", "ann@gmail.com"),
            ("+x@example.com", "+x@example.com"),
        ] {
            assert_eq!(Email::parse(address).unwrap().mailbox(), mailbox, "{address}");
        }
    }

    #[test]
    fn addresses_are_checked_and_lowered() {
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
    fn malformed_addresses_are_refused() {
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
            assert_eq!((refused.code(), refused.message()), ("validation_failed", message), "{given:?}");
        }
    }

    #[test]
    fn an_address_of_255_bytes_is_not_too_long() {
        assert!(Email::parse(&format!("{}@example.com", "a".repeat(243))).is_ok());
        assert!(Email::parse(&format!("{}@example.com", "a".repeat(244))).is_err());
    }

    /// D4: look-alikes outside ASCII never become a stored address; only looking up folds them, as the reference does.
    #[test]
    fn d4_letters_that_lower_to_ascii_are_no_addresses() {
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
        assert_eq!(Email::lookup_form("\u{212a}im@example.com"), "kim@example.com");
        assert_eq!(Email::lookup_form("AD\u{130}@EXAMPLE.COM"), "adi@example.com");
        assert_eq!(Email::lookup_form("ΑΣ"), "ας".replace('ς', "σ"));
        assert_eq!(Email::lookup_form("ann\u{200b}@example.com"), "ann\u{200b}@example.com");
    }

    #[test]
    fn numbers_lose_plus_and_spaces() {
        for (given, kept) in [("+1 555 01", "155501"), ("15550100", "15550100"), ("+ 49 1", "491"), ("12", "12")] {
            assert_eq!(Phone::parse(given).unwrap().as_str(), kept, "{given:?}");
        }
    }

    #[test]
    fn numbers_that_are_not_e164_are_refused() {
        for given in
            ["", "+", "1", "0155501000", "call me", "1111111111111111", "++15550100", "1-555", "15550١٠", "1\t5550"]
        {
            let refused = Phone::parse(given).unwrap_err();
            assert_eq!(refused.message(), "Invalid phone number format (E.164 required)", "{given:?}");
        }
    }

    #[test]
    fn channels_depend_on_the_sender() {
        let none = SmsPolicy::default();
        let twilio = SmsPolicy { provider_name: "twilio_verify".into(), ..SmsPolicy::default() };
        assert_eq!(Channel::parse("", &none, false).unwrap().as_str(), "sms");
        assert_eq!(Channel::parse("sms", &none, false).unwrap().as_str(), "sms");
        assert!(Channel::parse("whatsapp", &none, false).is_err());
        assert_eq!(Channel::parse("whatsapp", &twilio, false).unwrap().as_str(), "whatsapp");
        assert!(Channel::parse("pigeon", &twilio, false).is_err());
        assert_eq!(Channel::parse("pigeon", &none, true).unwrap().as_str(), "pigeon");
    }

    #[test]
    fn a_contact_knows_its_provider() {
        let email = Contact::Email(Email::parse("a@b").unwrap());
        let phone = Contact::Phone(Phone::parse("12").unwrap());
        assert_eq!(
            (email.provider(), email.as_str(), phone.provider(), phone.as_str()),
            ("email", "a@b", "phone", "12")
        );
    }

    proptest! {
        #[test]
        fn parsing_is_stable(text in any::<String>()) {
            if let Ok(email) = Email::parse(&text) {
                prop_assert!(email.as_str().is_ascii());
                prop_assert_eq!(Email::parse(email.as_str()).unwrap(), email.clone());
                prop_assert_eq!(Email::lookup_form(&text), email.as_str());
            }
            if let Ok(phone) = Phone::parse(&text) {
                prop_assert_eq!(Phone::parse(phone.as_str()).unwrap(), phone);
            }
        }
    }
}
