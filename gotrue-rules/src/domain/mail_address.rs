//! What can be told of a mail address without asking anybody (`config.md` §5): which ones nobody reads, and which hosts
//! are worth a look into the DNS.

/// Typed so often that they are known.
const NOBODYS: [&str; 4] = ["test@gmail.com", "example@gmail.com", "someone@gmail.com", "test@email.com"];

/// Hosts that are reserved (RFC 2606), typing mistakes, or no place for mail.
const NO_HOSTS: [&str; 13] = [
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

/// Reserved ends of hosts (RFC 2606).
const NO_ENDS: [&str; 5] = [".test", ".example", ".invalid", ".local", ".localhost"];

/// Hosts that are known to take mail.
const KNOWN: [&str; 19] = [
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

/// What becomes of an address by its spelling alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling<'a> {
    /// Nobody reads mail there.
    Nobodys,
    /// The host is known to take mail.
    Known,
    /// The DNS may know whether this host takes mail.
    AskFor(&'a str),
}

/// Judges an address by its spelling.
pub fn judge(address: &str) -> Spelling<'_> {
    let Some((user, host)) = address.rsplit_once('@') else { return Spelling::Nobodys };
    let is_nobodys = !is_dot_atom(user)
        || !is_dot_atom(host)
        || NOBODYS.contains(&address)
        || NO_HOSTS.contains(&host)
        || NO_ENDS.iter().any(|end| host.ends_with(end))
        || (host == "gmail.com" && user.len() < 6)
        || !host.contains('.');
    match host {
        _ if is_nobodys => Spelling::Nobodys,
        known if KNOWN.contains(&known) => Spelling::Known,
        host => Spelling::AskFor(host),
    }
}

/// A `dot-atom` of RFC 5322, with the letters of RFC 6532.
fn is_dot_atom(text: &str) -> bool {
    let is_atext = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atext))
}

/// Whether an address is on a list, in any letter case and whatever label (`+news`) it has.
pub fn is_listed(address: &str, list: &[String]) -> bool {
    let plain = without_label(address).to_lowercase();
    list.iter().any(|listed| listed.to_lowercase() == plain)
}

fn without_label(address: &str) -> String {
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
    fn an_address_is_judged_by_its_spelling() {
        for (address, expected) in [
            ("test@gmail.com", Spelling::Nobodys),
            ("short@gmail.com", Spelling::Nobodys),
            ("longer@gmail.com", Spelling::Known),
            ("a@yahoo.co.uk", Spelling::Known),
            ("a@example.com", Spelling::Nobodys),
            ("a@shop.example", Spelling::Nobodys),
            ("a@sub.example.com", Spelling::AskFor("sub.example.com")),
            ("a@printer.local", Spelling::Nobodys),
            ("a@intranet", Spelling::Nobodys),
            ("a@acme.io", Spelling::AskFor("acme.io")),
            ("a+b@acme.io", Spelling::AskFor("acme.io")),
            ("a..b@acme.io", Spelling::Nobodys),
            (".a@acme.io", Spelling::Nobodys),
            ("a.@acme.io", Spelling::Nobodys),
            ("a@acme..io", Spelling::Nobodys),
            ("a b@acme.io", Spelling::Nobodys),
            ("no address", Spelling::Nobodys),
            ("", Spelling::Nobodys),
        ] {
            assert_eq!(judge(address), expected, "{address}");
        }
    }

    #[test]
    fn a_list_takes_any_letter_case_and_label() {
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
