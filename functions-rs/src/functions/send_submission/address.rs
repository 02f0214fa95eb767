//! Mail addresses in a text. Pure. Only what nobody could read as anything else counts as an address: a mail to the wrong one
//! is worse than none.

use gotrue_rules::domain::contact::Email;

/// A plausible mail address of ASCII characters, safe in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(String);

/// Longest address, and longest part before the `@` (RFC 5321 §4.5.3.1).
const LONGEST: (usize, usize) = (254, 64);

impl Address {
    /// The address, if the text is one and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let (local, domain) = text.split_once('@')?;
        let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-'".contains(&byte);
        let dots_are_inside = !local.starts_with('.') && !local.ends_with('.') && !local.contains("..");
        let plausible = text.len() <= LONGEST.0
            && (1..=LONGEST.1).contains(&local.len())
            && local.bytes().all(is_local)
            && dots_are_inside
            && is_domain(domain);
        plausible.then(|| Self(text.to_owned()))
    }

    /// The one address in a text: none if there is none, or if there are two that differ by more than letter case.
    pub fn only_one_in(text: &str) -> Option<Self> {
        let mut only: Option<Self> = None;
        for word in text.split(|c| !is_part(c)).filter(|word| word.contains('@')) {
            let found = Self::parse(word.trim_end_matches(['.', '-', '\'']).trim_start_matches(['\'']))?;
            match &only {
                Some(known) if known.lower_case() != found.lower_case() => return None,
                _ => only = Some(found),
            }
        }
        only
    }

    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What limits count by: the mailbox behind the address, as for the auth API's mails.
    pub fn mailbox(&self) -> String {
        Email::parse(&self.0).map_or_else(|_| self.lower_case(), |email| email.mailbox())
    }

    /// The address in lower case.
    fn lower_case(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// Characters that belong to the word an address may be in. Letters of every script do, so that `jörg@example.com` is not cut
/// down to the address of somebody else, and so do the slashes and colons of a URL.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "@.!#$%&'*+-/=?^_`{|}~:\\".contains(c)
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
        Address::only_one_in(text).map(|address| address.0)
    }

    #[test]
    fn the_one_address_is_found() {
        for (text, address) in [
            ("ada@example.com", "ada@example.com"),
            ("Write to Ada.Lovelace+shop@mail.example.co.uk.", "Ada.Lovelace+shop@mail.example.co.uk"),
            ("Mail me (ada@example.com), please", "ada@example.com"),
            ("<ada@example.com>", "ada@example.com"),
            ("\"ada@example.com\"", "ada@example.com"),
            ("'ada@example.com'", "ada@example.com"),
            ("ada@example.com\nADA@Example.com", "ADA@Example.com"),
            ("o'brien@example.com", "o'brien@example.com"),
            ("邮箱 ada@example.com,谢谢", "ada@example.com"),
            ("ada@xn--bcher-kva.xn--p1ai", "ada@xn--bcher-kva.xn--p1ai"),
        ] {
            assert_eq!(found(text).as_deref(), Some(address), "{text}");
        }
    }

    #[test]
    fn what_could_be_something_else_is_nobodys_address() {
        for text in [
            "",
            "no address here",
            "@handle on social media",
            "ada@example.com and bob@example.com",
            "ada@example.com, @handle",
            "ada@example",
            "ada@192.0.2.1",
            "ada@-example.com",
            "ada@exa_mple.com",
            "ada..b@example.com",
            ".ada@example.com",
            "jörg@example.com",
            "ada@exämple.com",
            "https://user@example.com/path",
            "mailto:ada@example.com",
            "a@b@example.com",
            "ada@example.com@evil.example",
            "邮箱ada@example.com",
            "ada@example.com/../x",
            "ada@example.c",
            "!ada@example.com",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
        assert_eq!(found(&format!("{}@example.com", "a".repeat(65))), None);
        assert_eq!(found(&format!("a@{}.com", "a".repeat(64))), None);
        assert_eq!(found(&format!("a@{}com", "abcdefg.".repeat(32))), None);
    }

    #[test]
    fn variants_of_an_address_are_one_mailbox() {
        for (text, mailbox) in [
            ("Ada@Example.com", "ada@example.com"),
            ("ada+1@example.com", "ada@example.com"),
            ("ada+a+b@example.com", "ada@example.com"),
            ("a.d.a+x@gmail.com", "ada@gmail.com"),
            ("a.da@example.com", "a.da@example.com"),
        ] {
            assert_eq!(Address::parse(text).expect("an address").mailbox(), mailbox, "{text}");
        }
        assert_eq!(found("ada@example.com and ada+1@example.com"), None, "two addresses, whoever reads them");
    }

    proptest! {
        #[test]
        fn every_address_is_one_that_the_auth_api_reads(text in "[a-z.+%'-]{1,8}@[a-z-]{1,5}[.][a-z]{2,4}") {
            if let Some(address) = Address::parse(&text) {
                prop_assert!(Email::parse(address.as_str()).is_ok(), "{}", text);
            }
        }

        #[test]
        fn a5_an_address_is_safe_in_a_header(text in "\\PC{0,40}@\\PC{0,40}") {
            if let Some(address) = Address::only_one_in(&text) {
                prop_assert!(address.0.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>,;:\"()[]\\".contains(&byte)));
                prop_assert_eq!(address.0.matches('@').count(), 1);
                prop_assert!(text.contains(&address.0));
            }
        }
    }
}
