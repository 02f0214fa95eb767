//! E-mail addresses. Only validated ones are stored; lookups accept any text.

use crate::error::{Error, Result};

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

    proptest! {
        #[test]
        fn parsing_is_idempotent(text in any::<String>()) {
            if let Ok(email) = Email::parse(&text) {
                prop_assert!(email.as_str().is_ascii());
                prop_assert_eq!(Email::parse(email.as_str()).unwrap(), email.clone());
                prop_assert_eq!(Email::normalize_for_lookup(&text), email.as_str());
            }
        }
    }
}
