//! Pseudonyms: with one seed the same input has the same pseudonym.
//!
//! None can be traced back without the seed.
//! Every pseudonym has the form of what it replaces and lies in a range that is reserved for examples or tests, so that no
//! message reaches a user.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aws_lc_rs::hmac;
use uuid::Uuid;

/// The syllables of names and texts.
const SYLLABLES: [&str; 64] = [
    "ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du", "fa", "fe", "fi", "fo", "fu", "ga", "ge", "gi", "go",
    "gu", "ka", "ke", "ki", "ko", "ku", "la", "le", "li", "lo", "lu", "ma", "me", "mi", "mo", "mu", "na", "ne", "ni",
    "no", "nu", "pa", "pe", "pi", "po", "pu", "ra", "re", "ri", "ro", "ru", "sa", "se", "si", "so", "su", "ta", "te",
    "ti", "to", "tu", "va", "ve", "vi", "vo",
];

/// User agents in place of real ones.
const USER_AGENTS: [&str; 4] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15",
    "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
];

/// The digits before pseudonymous numbers: a country code that is not assigned (ITU-T E.164).
const PHONE_PREFIX: &str = "999";
/// The longest pseudonymous text, in words.
const MAX_WORDS: usize = 60;
/// The shortest limit of a pseudonymous text, in characters: long enough to be unique.
const MIN_TEXT_LENGTH: usize = 16;

/// Makes pseudonyms with the key of a seed.
#[derive(Clone)]
pub struct Pseudonyms {
    key: hmac::Key,
    /// Changes the numbers if two of them have the same pseudonym.
    phone_variant: u32,
}

impl Pseudonyms {
    /// Derives the key from a seed.
    pub fn new(seed: &str) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, seed.as_bytes()), phone_variant: 0 }
    }

    /// Returns these pseudonyms with other numbers.
    pub(crate) fn with_phone_variant(&self, phone_variant: u32) -> Self {
        Self { key: self.key.clone(), phone_variant }
    }

    /// Returns a text that identifies the seed and does not reveal it.
    pub(crate) fn fingerprint(&self) -> String {
        self.hex("fingerprint", "", 16)
    }

    fn digest(&self, kind: &str, value: &str) -> [u8; 32] {
        let tag = hmac::sign(&self.key, format!("{kind}\0{value}").as_bytes());
        let mut digest = [0; 32];
        digest.copy_from_slice(tag.as_ref());
        digest
    }

    /// Returns a number below 2^64.
    pub fn number(&self, kind: &str, value: &str) -> u64 {
        let digest = self.digest(kind, value);
        digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn hex(&self, kind: &str, value: &str, digits: usize) -> String {
        let mut text = hex::encode(self.digest(kind, value));
        text.truncate(digits);
        text
    }

    /// Returns an address: the same user name has another pseudonym in another domain, a domain has one.
    pub(crate) fn email(&self, address: &str) -> String {
        let address = address.trim().to_lowercase();
        let domain = address.rsplit('@').next().unwrap_or_default();
        format!("u{}@{}", self.hex("email", &address, 20), self.domain(domain))
    }

    /// Returns a domain below `example.com`, which is reserved (RFC 2606).
    pub(crate) fn domain(&self, domain: &str) -> String {
        format!("d{}.example.com", self.hex("domain", &domain.trim().to_lowercase(), 12))
    }

    /// Returns a number of 15 digits, with `+` if the number has one.
    pub(crate) fn phone(&self, number: &str) -> String {
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        let kind = format!("phone {}", self.phone_variant);
        let subscriber = self.number(&kind, &digits) % 1_000_000_000_000;
        let plus = if number.trim_start().starts_with('+') { "+" } else { "" };
        format!("{plus}{PHONE_PREFIX}{subscriber:012}")
    }

    /// Returns a name with the number of words of the original, at most three.
    pub(crate) fn name(&self, name: &str) -> String {
        let name = name.trim().to_lowercase();
        let words = name.split_whitespace().count().clamp(1, 3);
        let word = |at: usize| capitalise(&self.word(&format!("name {at}"), &name, 3));
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    }

    /// Returns a text with about the length of the original.
    pub(crate) fn text(&self, text: &str) -> String {
        if text.trim().is_empty() {
            return text.to_owned();
        }
        let words = text.split_whitespace().count().clamp(1, MAX_WORDS);
        let word = |at: usize| self.word(&format!("text {at}"), text, if at == 0 { 8 } else { 2 + at % 3 });
        let mut replaced = (0..words).map(word).collect::<Vec<_>>().join(" ");
        replaced.truncate(text.chars().count().max(MIN_TEXT_LENGTH));
        replaced.trim_end().to_owned()
    }

    /// Returns a word of some syllables.
    fn word(&self, kind: &str, value: &str, syllables: usize) -> String {
        let digest = self.digest(kind, value);
        digest.iter().take(syllables).map(|byte| SYLLABLES[usize::from(*byte) % SYLLABLES.len()]).collect()
    }

    /// Returns a URL at a reserved host, with the ending of a picture.
    pub(crate) fn url(&self, url: &str) -> String {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let ending = [".png", ".jpg", ".jpeg", ".webp", ".gif", ".svg"].into_iter().find(|end| path.ends_with(end));
        format!("https://files.example.com/{}{}", self.hex("url", url, 20), ending.unwrap_or_default())
    }

    /// Returns an address of 198.18.0.0/15 (RFC 2544) or `2001:db8::/32` (RFC 3849).
    pub(crate) fn ip(&self, address: IpAddr) -> IpAddr {
        let number = self.number("ip", &address.to_string());
        let part = |shift: u32| u16::try_from(number >> shift & 0xffff).unwrap_or_default();
        match address {
            IpAddr::V4(_) => {
                let [_, second, third, fourth] = u32::try_from(number & 0x1_ffff).unwrap_or_default().to_be_bytes();
                IpAddr::V4(Ipv4Addr::new(198, 18 + second, third, fourth))
            }
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, part(0), part(16), part(32), part(48), 0, 1)),
        }
    }

    /// Returns an address in text form; a text that is none is replaced as a text.
    pub(crate) fn ip_text(&self, text: &str) -> String {
        match text.trim().parse() {
            Ok(address) => self.ip(address).to_string(),
            Err(_) if text.is_empty() => String::new(),
            Err(_) => self
                .ip(IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(self.number("ip", text) >> 32).unwrap_or(0))))
                .to_string(),
        }
    }

    /// Returns a network: an address alone, or the first 64 bits of one.
    pub(crate) fn network(&self, text: &str) -> String {
        let (address, length) = text.split_once('/').unwrap_or((text, ""));
        match (address.parse().map(|address| self.ip(address)), length) {
            (Ok(IpAddr::V6(address)), "64") => {
                let [first, second, third, fourth, ..] = address.segments();
                format!("{}/64", Ipv6Addr::new(first, second, third, fourth, 0, 0, 0, 0))
            }
            (Ok(address), _) => address.to_string(),
            (Err(_), _) => self.ip_text(text),
        }
    }

    /// Returns one of a few user agents.
    pub(crate) fn user_agent(&self, agent: &str) -> String {
        let at = usize::try_from(self.number("user agent", agent) % 4).unwrap_or_default();
        USER_AGENTS[at].to_owned()
    }

    /// Returns an identifier, which is a UUID for a UUID.
    pub(crate) fn identifier(&self, id: &str) -> String {
        if id.parse::<Uuid>().is_ok() {
            return self.uuid("identifier", &id.to_lowercase());
        }
        if id.is_empty() { String::new() } else { format!("id-{}", self.hex("identifier", id, 20)) }
    }

    /// Returns the version of the stored object with this id: a UUID.
    pub(crate) fn object_version(&self, id: &str) -> String {
        self.uuid("object version", id)
    }

    fn uuid(&self, kind: &str, value: &str) -> String {
        let digest = self.digest(kind, value);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// Returns a secret of a TOTP factor, in Base32.
    pub(crate) fn totp_secret(&self, secret: &str) -> String {
        const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let digest = self.digest("totp", secret);
        digest.iter().map(|byte| char::from(ALPHABET[usize::from(*byte & 31)])).collect()
    }

    /// Returns a whole number with the number of digits of the original.
    pub(crate) fn whole_number(&self, number: i64) -> i64 {
        let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0);
        let least = if digits == 0 { 0 } else { 10_i64.pow(digits) };
        let count = 10_i64.checked_pow(digits + 1).unwrap_or(i64::MAX) - least;
        let below = self.number("number", &number.to_string()) % count.unsigned_abs().max(1);
        let replaced = least + i64::try_from(below).unwrap_or_default();
        if number < 0 { -replaced } else { replaced }
    }
}

fn capitalise(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_ascii_uppercase().to_string() + characters.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn pseudonyms() -> Pseudonyms {
        Pseudonyms::new("a seed")
    }

    #[test]
    fn pseudonyms_depend_on_the_seed_and_the_input_only() {
        let (one, other) = (pseudonyms(), Pseudonyms::new("another seed"));
        assert_eq!(one.email("Ann@Example.org "), one.email("ann@example.org"));
        assert_ne!(one.email("ann@example.org"), other.email("ann@example.org"));
        assert_ne!(one.email("ann@example.org"), one.email("bob@example.org"));
        let domain = |address: &str| one.email(address).rsplit('@').next().map(str::to_owned);
        assert_eq!(domain("ann@example.org"), domain("bob@example.org"));
        assert_eq!(domain("ann@example.org"), Some(one.domain("example.org")));
        assert_eq!(one.phone("+49 151 1234567").strip_prefix('+'), Some(one.phone("491511234567").as_str()));
        assert_ne!(one.phone("1"), one.with_phone_variant(1).phone("1"));
        assert_eq!(one.identifier(&one.identifier("a")).len(), one.identifier("a").len());
    }

    #[test]
    fn pseudonyms_have_their_forms() {
        let pseudonyms = pseudonyms();
        assert_eq!(pseudonyms.name("Ann Maria Smith Miller").split(' ').count(), 3);
        assert_eq!(pseudonyms.url("https://a.example/ann.png?x").rsplit('.').next(), Some("png"));
        assert!(pseudonyms.ip_text("203.0.113.7").starts_with("198.1"));
        assert!(pseudonyms.ip_text("2a00::1").starts_with("2001:db8:"));
        assert_eq!(pseudonyms.ip_text(""), "");
        assert!(pseudonyms.network("2a00:1:2:3::/64").ends_with("::/64"));
        assert!(pseudonyms.network("203.0.113.7/32").parse::<IpAddr>().is_ok());
        assert_eq!(pseudonyms.totp_secret("X").len(), 32);
        assert!((100..=999).contains(&pseudonyms.whole_number(123)) && (-9..=0).contains(&pseudonyms.whole_number(-5)));
        assert!(pseudonyms.identifier("6f7d4d1e-1b6f-4c59-9b50-0b8cf1d0c9a1").parse::<Uuid>().is_ok());
    }

    #[test]
    fn short_texts_stay_different() {
        let pseudonyms = pseudonyms();
        let replaced: HashSet<String> = (0..500).map(|number| pseudonyms.text(&number.to_string())).collect();
        assert_eq!(replaced.len(), 500);
        assert!(pseudonyms.text(&"word ".repeat(200)).len() <= 1000);
    }

    proptest! {
        #[test]
        fn arbitrary_inputs_do_not_panic(text in "\\PC{0,40}", number in any::<i64>()) {
            let pseudonyms = pseudonyms();
            let phone = pseudonyms.phone(&text);
            prop_assert!(phone.trim_start_matches('+').len() == 15);
            prop_assert!(pseudonyms.email(&text).len() <= 255);
            prop_assert!(pseudonyms.text(&text).chars().count() <= text.chars().count().max(MIN_TEXT_LENGTH));
            let _ = (pseudonyms.name(&text), pseudonyms.url(&text), pseudonyms.ip_text(&text), pseudonyms.network(&text), pseudonyms.whole_number(number));
        }
    }
}
