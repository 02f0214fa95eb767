//! Phone numbers, and the contacts of a user. Only validated ones are stored; lookups accept any text.

use foundation::email::Email;
use foundation::error::{Error, Result};

use super::policy::SmsPolicy;

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            if let Ok(phone) = Phone::parse(&text) {
                prop_assert_eq!(Phone::parse(phone.as_str()).unwrap(), phone);
            }
        }
    }
}
