//! Classification of e-mail addresses by spelling: undeliverable, deliverable, or unknown host.

/// Addresses that are used as examples and have no real mailbox.
const EXAMPLE_ADDRESSES: [&str; 4] = ["test@gmail.com", "example@gmail.com", "someone@gmail.com", "test@email.com"];

/// Hosts that are reserved (RFC 2606), misspelled, or do not accept mail.
const UNDELIVERABLE_HOSTS: [&str; 13] = [
    "test",
    "example",
    "invalid",
    "local",
    "localhost",
    "test.com",
    "example.com",
    "example.net",
    "example.org",
    "gamil.com",
    "gamai.com",
    "anonymous.com",
    "email.com",
];

/// Reserved top-level domains (RFC 2606).
const RESERVED_SUFFIXES: [&str; 5] = [".test", ".example", ".invalid", ".local", ".localhost"];

/// Hosts that are known to accept mail.
const MAIL_HOSTS: [&str; 19] = [
    "gmail.com",
    "yahoo.com",
    "hotmail.com",
    "aol.com",
    "outlook.com",
    "comcast.net",
    "icloud.com",
    "msn.com",
    "hotmail.co.uk",
    "sbcglobal.net",
    "live.com",
    "yahoo.co.in",
    "me.com",
    "att.net",
    "mail.ru",
    "bellsouth.net",
    "cox.net",
    "yahoo.co.uk",
    "verizon.net",
];

/// Deliverability of an address by spelling alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deliverability<'a> {
    /// The address is undeliverable.
    Undeliverable,
    /// The host is known to accept mail.
    KnownHost,
    /// A DNS lookup must show whether this host accepts mail.
    LookUp(&'a str),
}

/// Classifies an address by its spelling.
pub fn classify_address(address: &str) -> Deliverability<'_> {
    let Some((user, host)) = address.rsplit_once('@') else { return Deliverability::Undeliverable };
    let is_nobodys = !is_dot_atom(user)
        || !is_dot_atom(host)
        || EXAMPLE_ADDRESSES.contains(&address)
        || UNDELIVERABLE_HOSTS.contains(&host)
        || RESERVED_SUFFIXES.iter().any(|end| host.ends_with(end))
        || (host == "gmail.com" && user.len() < 6)
        || !host.contains('.');
    match host {
        _ if is_nobodys => Deliverability::Undeliverable,
        known if MAIL_HOSTS.contains(&known) => Deliverability::KnownHost,
        host => Deliverability::LookUp(host),
    }
}

/// Whether the text is a `dot-atom` of RFC 5322, with the characters of RFC 6532.
fn is_dot_atom(text: &str) -> bool {
    let is_atext = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atext))
}

/// Whether an address is in a list, ignoring letter case and a `+tag`.
pub fn is_listed(address: &str, list: &[String]) -> bool {
    let plain = without_tag(address).to_lowercase();
    list.iter().any(|listed| listed.to_lowercase() == plain)
}

fn without_tag(address: &str) -> String {
    let labelled = address.split_once('+').and_then(|(user, rest)| {
        let (label, host) = rest.split_once('@')?;
        (!label.is_empty()).then(|| format!("{user}@{host}"))
    });
    labelled.unwrap_or_else(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_classified_by_spelling() {
        for (address, expected) in [
            ("test@gmail.com", Deliverability::Undeliverable),
            ("short@gmail.com", Deliverability::Undeliverable),
            ("longer@gmail.com", Deliverability::KnownHost),
            ("a@yahoo.co.uk", Deliverability::KnownHost),
            ("a@example.com", Deliverability::Undeliverable),
            ("a@shop.example", Deliverability::Undeliverable),
            ("a@sub.example.com", Deliverability::LookUp("sub.example.com")),
            ("a@printer.local", Deliverability::Undeliverable),
            ("a@intranet", Deliverability::Undeliverable),
            ("a@acme.io", Deliverability::LookUp("acme.io")),
            ("a+b@acme.io", Deliverability::LookUp("acme.io")),
            ("a..b@acme.io", Deliverability::Undeliverable),
            (".a@acme.io", Deliverability::Undeliverable),
            ("a.@acme.io", Deliverability::Undeliverable),
            ("a@acme..io", Deliverability::Undeliverable),
            ("a b@acme.io", Deliverability::Undeliverable),
            ("no address", Deliverability::Undeliverable),
            ("", Deliverability::Undeliverable),
        ] {
            assert_eq!(classify_address(address), expected, "{address}");
        }
    }

    #[test]
    fn list_lookup_ignores_case_and_tag() {
        let list = ["Ann@example.com".to_owned(), "odd+kept@example.com".to_owned()];
        for (address, listed) in [
            ("ann@example.com", true),
            ("ANN@EXAMPLE.COM", true),
            ("ann+news@example.com", true),
            ("ann+news+more@example.com", true),
            ("ann+@example.com", false),
            ("bob@example.com", false),
            ("ann@example.org", false),
            ("odd+kept@example.com", false),
        ] {
            assert_eq!(is_listed(address, &list), listed, "{address}");
        }
    }
}
