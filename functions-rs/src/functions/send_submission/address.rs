//! Mail addresses in a text.
//! Only unambiguous addresses count: a mail to a wrong address is worse than none.

use foundation::email::Email;

/// A plausible e-mail address of ASCII characters, safe in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailAddress(String);

/// The addresses in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundAddresses {
    /// No valid one.
    None,
    One(EmailAddress),
    /// Several that differ, so that none is certain.
    Several,
}

/// Maximum length of an address, and of the part before the `@` (RFC 5321 §4.5.3.1).
const MAX_LENGTHS: (usize, usize) = (254, 64);

/// Maximum number of addresses that are listed of a text.
pub const MAX_FOUND: usize = 10;

impl EmailAddress {
    /// Parses a text that consists of one address.
    pub fn parse(text: &str) -> Option<Self> {
        let (local, domain) = text.split_once('@')?;
        let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-'".contains(&byte);
        let dots_are_inside = !local.starts_with('.') && !local.ends_with('.') && !local.contains("..");
        let plausible = text.len() <= MAX_LENGTHS.0
            && (1..=MAX_LENGTHS.1).contains(&local.len())
            && local.bytes().all(is_local)
            && dots_are_inside
            && is_domain(domain);
        plausible.then(|| Self(text.to_owned()))
    }

    /// Finds the addresses in a text.
    ///
    /// Spellings that differ by case only are one address. A word with an `@` that is no valid address may be meant as one.
    pub fn find(text: &str) -> FoundAddresses {
        let mut only: Option<&str> = None;
        for word in list_candidates(text) {
            if only.is_some_and(|known| !known.eq_ignore_ascii_case(word)) {
                return FoundAddresses::Several;
            }
            only = Some(word);
        }
        only.and_then(Self::parse).map_or(FoundAddresses::None, FoundAddresses::One)
    }

    /// Lists the valid addresses in a text, each once regardless of case, at most [`MAX_FOUND`].
    pub fn list(text: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for address in list_candidates(text).filter_map(Self::parse) {
            if found.len() < MAX_FOUND && found.iter().all(|known| !known.is_same(address.as_str())) {
                found.push(address);
            }
        }
        found
    }

    /// Returns whether a text is this address, regardless of case.
    pub fn is_same(&self, text: &str) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }

    /// Returns the address as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the mailbox of the address, by which limits count, as for the auth API's mails.
    pub fn mailbox(&self) -> String {
        Email::parse(&self.0).map_or_else(|_| self.lower_case(), |email| email.rate_limit_key())
    }

    /// Returns the address in lower case.
    fn lower_case(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// Returns the words with an `@`, without the punctuation around them.
fn list_candidates(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c| !is_word_character(c)).filter(|word| word.contains('@'));
    words.map(|word| word.trim_end_matches(['.', '-', '\'']).trim_start_matches(['\'']))
}

/// Returns whether a character belongs to a word that may be an address.
///
/// The letters of all scripts and their combining marks belong to it: without them `jörg@example.com` would be
/// shortened to the address of another user. The slashes and colons of a URL belong to it, too.
fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c) || "@.!#$%&'*+-/=?^_`{|}~:\\".contains(c)
}

/// Returns whether a character is in a Unicode block of combining diacritical marks.
fn is_combining_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let top = domain.rsplit('.').next().unwrap_or_default();
    let is_top = top.len() >= 2 && (top.bytes().all(|byte| byte.is_ascii_alphabetic()) || top.starts_with("xn--"));
    domain.contains('.') && domain.split('.').all(is_label) && is_top
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Option<String> {
        match EmailAddress::find(text) {
            FoundAddresses::One(address) => Some(address.0),
            FoundAddresses::None | FoundAddresses::Several => None,
        }
    }

    /// A row of the table of cases, which also tests the form.
    #[derive(serde::Deserialize)]
    struct AddressCase {
        text: String,
        address: Option<String>,
    }

    #[test]
    fn only_unambiguous_address_is_found() {
        let cases = include_str!("../../../tests/address_cases.json");
        let cases: Vec<AddressCase> = serde_json::from_str(cases).expect("the table");
        for AddressCase { text, address } in cases {
            assert_eq!(found(&text), address, "{text}");
        }
    }

    #[test]
    fn differing_words_with_at_signs_are_several_addresses() {
        for text in
            ["ada@example.com, bob@example.com", "ada@example.com or @handle", "jörg@example.com ada@example.com"]
        {
            assert_eq!(EmailAddress::find(text), FoundAddresses::Several, "{text}");
        }
        for text in ["", "ada at example.com", "@handle", "jörg@example.com"] {
            assert_eq!(EmailAddress::find(text), FoundAddresses::None, "{text}");
        }
    }

    #[test]
    fn address_variants_share_mailbox() {
        for (text, mailbox) in [
            ("Ada@Example.com", "ada@example.com"),
            ("ada+1@example.com", "ada@example.com"),
            ("ada+a+b@example.com", "ada@example.com"),
            ("a.d.a+x@gmail.com", "ada@gmail.com"),
            ("a.da@example.com", "a.da@example.com"),
        ] {
            assert_eq!(EmailAddress::parse(text).expect("an address").mailbox(), mailbox, "{text}");
        }
        assert_eq!(found("ada@example.com and ada+1@example.com"), None, "two addresses, whoever reads them");
    }

    #[test]
    fn valid_addresses_are_listed_once() {
        let listed = |text: &str| EmailAddress::list(text).into_iter().map(|address| address.0).collect::<Vec<_>>();
        let text = "bob@example.com, Ada@example.com or ada@Example.com, @handle, jörg@example.com";
        assert_eq!(listed(text), ["bob@example.com", "Ada@example.com"]);
        let many: Vec<String> = (0..50).map(|number| format!("a{number}@example.com")).collect();
        assert_eq!(listed(&many.join(" ")), many[..MAX_FOUND]);
    }

    proptest! {
        #[test]
        fn listed_addresses_contain_the_only_one(text in "[a-z@., ]{0,60}") {
            if let FoundAddresses::One(address) = EmailAddress::find(&text) {
                prop_assert!(EmailAddress::list(&text).iter().any(|listed| listed.is_same(address.as_str())));
            }
        }

        #[test]
        fn address_is_valid_for_auth_api(text in "[a-z.+%'-]{1,8}@[a-z-]{1,5}[.][a-z]{2,4}") {
            if let Some(address) = EmailAddress::parse(&text) {
                prop_assert!(Email::parse(address.as_str()).is_ok(), "{}", text);
            }
        }

        #[test]
        fn address_is_safe_in_header(text in "\\PC{0,40}@\\PC{0,40}") {
            if let FoundAddresses::One(address) = EmailAddress::find(&text) {
                prop_assert!(address.0.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>,;:\"()[]\\".contains(&byte)));
                prop_assert_eq!(address.0.matches('@').count(), 1);
                prop_assert!(text.contains(&address.0));
            }
        }
    }
}
