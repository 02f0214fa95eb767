//! What a message says: its code, token hash and links, also those of an operator's template.

use platform::mail::inbox::InboxMail;
use platform::mail::plain::list_links;
use platform::request_info::parse_pairs;

use crate::kind::APPLICATION_KIND;

/// The numbers of digits of a code.
const CODE_LENGTHS: std::ops::RangeInclusive<usize> = 6..=10;
/// A shorter value of a parameter `token` is a code and no hash.
const MIN_HASH_LENGTH: usize = 20;

/// What a message says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// The code to enter.
    pub code: Option<String>,
    /// The token hash to verify.
    pub token_hash: Option<String>,
    /// The link to follow.
    pub link: Option<String>,
    /// All links.
    pub links: Vec<String>,
}

impl Content {
    /// Reads a message; `text` is its plain text.
    ///
    /// The link is the one that carries the token. A message of the auth API without it has the stored one, which its
    /// template could have shown.
    pub(crate) fn read(mail: &InboxMail, text: &str) -> Self {
        let mut links = list_links(&mail.html);
        for link in list_bare_links(text) {
            if !links.contains(&link) {
                links.push(link);
            }
        }
        let stored_hash = mail.link.as_deref().and_then(find_hash);
        let is_application = mail.kind == APPLICATION_KIND;
        let code = mail.code.clone().or_else(|| if is_application { find_code(text) } else { None });
        let has = |value: &Option<String>, link: &str| value.as_deref().is_some_and(|value| link.contains(value));
        let carrying = links
            .iter()
            .find(|link| has(&stored_hash, link))
            .or_else(|| links.iter().find(|link| find_hash(link).is_some()))
            .or_else(|| links.iter().find(|link| has(&mail.code, link)))
            .cloned();
        let link = carrying.or_else(|| mail.link.clone());
        let link = link.or_else(|| if is_application { links.first().cloned() } else { None });
        let token_hash = link.as_deref().and_then(find_hash).or(stored_hash);
        Self { code, token_hash, link, links }
    }
}

/// Returns the token hash in the query or the fragment of a link.
fn find_hash(link: &str) -> Option<String> {
    let (address, fragment) = link.split_once('#').unwrap_or((link, ""));
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let fragment = fragment.split_once('?').map_or(fragment, |(_, query)| query);
    let pairs: Vec<(String, String)> = [query, fragment].into_iter().flat_map(parse_pairs).collect();
    let find = |wanted: &str| pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    find("token_hash").or_else(|| find("token")).filter(|hash| hash.len() >= MIN_HASH_LENGTH)
}

/// Returns the URLs in plain text, without the punctuation that follows them.
fn list_bare_links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut rest = text;
    while let Some(at) = [rest.find("http://"), rest.find("https://")].into_iter().flatten().min() {
        rest = &rest[at..];
        let is_end = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`');
        let end = rest.find(is_end).unwrap_or(rest.len());
        let link = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'']);
        if link.split_once("://").is_some_and(|(_, host)| !host.is_empty()) {
            links.push(link.to_owned());
        }
        rest = &rest[end..];
    }
    links
}

/// Returns the first number of the text that can be a code.
///
/// It has 6 to 10 digits that are no part of a longer word.
fn find_code(text: &str) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '=' | '+' | '#' | '%' | '&');
    text.split(|c: char| !is_word(c))
        .find(|word| CODE_LENGTHS.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_found_in_query_and_fragment() {
        let hash = "a".repeat(56);
        for link in [
            format!("https://a.example/verify?token={hash}&type=signup"),
            format!("https://a.example/#/confirm?token_hash={hash}"),
            format!("https://a.example/#token_hash={hash}"),
            format!("myapp://confirm?x=1&token_hash={hash}#y"),
        ] {
            assert_eq!(find_hash(&link), Some(hash.clone()), "{link}");
        }
        assert_eq!(find_hash("https://a.example/?token=123456"), None);
    }

    #[test]
    fn links_and_codes_are_found_in_text() {
        let text = "Go to https://a.example/x?y=1, or <http://b.example>. (https://c.example/d) http:// is none.";
        let links = ["https://a.example/x?y=1", "http://b.example", "https://c.example/d"];
        assert_eq!(list_bare_links(text), links);
        for (text, code) in [
            ("Your code is 123456.", Some("123456")),
            ("Code: 12345678", Some("12345678")),
            ("order A123456, call +4930123456, 12345, 2026-11-22", None),
        ] {
            assert_eq!(find_code(text).as_deref(), code, "{text}");
        }
    }
}
