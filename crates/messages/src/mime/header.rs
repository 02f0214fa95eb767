//! Headers of mails: unfolding, encoded words (RFC 2047), parameters (RFC 2231) and mailboxes.

use super::encoding::{decode_base64, decode_charset, decode_escapes};

/// The maximum number of headers.
const MAX_HEADERS: usize = 200;

/// Splits a mail or a part into its unfolded headers and its body.
pub(super) fn split_headers(raw: &[u8]) -> (Vec<(String, String)>, &[u8]) {
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut at = 0;
    for line in raw.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        let text = String::from_utf8_lossy(line.trim_ascii_end()).replace('\0', "");
        if text.is_empty() {
            return (headers, &raw[at..]);
        }
        if text.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(text.trim());
            }
        } else if let Some((name, value)) = text.split_once(':').filter(|(name, _)| is_name(name)) {
            if headers.len() < MAX_HEADERS {
                headers.push((name.to_owned(), value.trim().to_owned()));
            }
        } else {
            // Not a header: the body starts without an empty line.
            return (headers, &raw[at - line.len()..]);
        }
    }
    (headers, &[])
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Decodes the encoded words of a header; spaces between two of them are left out.
pub(super) fn decode_words(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_after_word = false;
    while let Some(start) = rest.find("=?") {
        let (before, word) = rest.split_at(start);
        let Some((content, length)) = decode_word(word) else {
            decoded.push_str(&rest[..start + 2]);
            rest = &rest[start + 2..];
            is_after_word = false;
            continue;
        };
        if !(is_after_word && before.trim().is_empty()) {
            decoded.push_str(before);
        }
        decoded.push_str(&content);
        rest = &word[length..];
        is_after_word = true;
    }
    decoded.push_str(rest);
    decoded
}

/// Decodes the encoded word at the start of a text, `=?charset?B?…?=`.
///
/// Returns its content and its length.
fn decode_word(text: &str) -> Option<(String, usize)> {
    let mut parts = text.strip_prefix("=?")?.splitn(4, '?');
    let (charset, encoding, content, after) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if !after.starts_with('=') || content.contains(char::is_whitespace) {
        return None;
    }
    let bytes = match encoding {
        "B" | "b" => decode_base64(content.as_bytes())?,
        "Q" | "q" => {
            let mut bytes = Vec::new();
            decode_escapes(content.replace('_', " ").as_bytes(), &mut bytes);
            bytes
        }
        _ => return None,
    };
    let charset = charset.split('*').next().unwrap_or_default();
    let length = "=?".len() + charset_length(text) + encoding.len() + content.len() + "??".len() + "?=".len();
    Some((decode_charset(&bytes, charset), length))
}

/// Returns the length of the character set of an encoded word, with its language.
fn charset_length(text: &str) -> usize {
    text.get(2..).and_then(|rest| rest.find('?')).unwrap_or_default()
}

/// The value of a structured header in lower case, with its parameters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderParameters {
    /// The value before the parameters.
    pub value: String,
    parameters: Vec<(String, String)>,
}

impl HeaderParameters {
    /// Parses `value; name=text; name="quoted text"`.
    pub(super) fn parse(text: &str) -> Self {
        let mut pieces = split_outside_quotes(text, ';').into_iter();
        let value = pieces.next().unwrap_or_default().trim().to_ascii_lowercase();
        let parameters = pieces.filter_map(|piece| {
            let (name, value) = piece.split_once('=')?;
            let (name, value) = (name.trim().to_ascii_lowercase(), unquote(value.trim()));
            // RFC 2231: name*=charset'language'percent-encoded
            match name.strip_suffix('*') {
                Some(plain) => Some((plain.to_owned(), decode_extended(&value)?)),
                None => Some((name, value)),
            }
        });
        Self { value, parameters: parameters.collect() }
    }

    /// Returns a parameter; empty if there is none.
    pub(super) fn get(&self, wanted: &str) -> &str {
        self.parameters.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value)
    }
}

fn decode_extended(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, content) = rest.split_once('\'')?;
    let mut bytes = Vec::new();
    decode_escapes(content.replace('=', "=3D").replace('%', "=").as_bytes(), &mut bytes);
    Some(decode_charset(&bytes, charset))
}

fn unquote(text: &str) -> String {
    let Some(inside) = text.strip_prefix('"') else { return text.to_owned() };
    let inside = inside.strip_suffix('"').unwrap_or(inside);
    let mut characters = inside.chars();
    let mut plain = String::with_capacity(inside.len());
    while let Some(character) = characters.next() {
        plain.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    plain
}

/// Splits a text at a separator that is neither in quotes nor in angle brackets.
fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped, mut depth) = (false, false, 0_usize);
    text.split(move |c: char| {
        if is_escaped {
            is_escaped = false;
            return false;
        }
        match c {
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '<' if !is_quoted => depth += 1,
            '>' if !is_quoted => depth = depth.saturating_sub(1),
            _ => return c == separator && !is_quoted && depth == 0,
        }
        false
    })
    .collect()
}

/// An address with an optional name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mailbox {
    /// The name; empty if there is none.
    pub name: String,
    pub address: String,
}

impl Mailbox {
    /// Parses a list of mailboxes separated by commas; entries without an address are left out.
    pub fn parse_list(text: &str) -> Vec<Self> {
        split_outside_quotes(text, ',').into_iter().filter_map(Self::parse).collect()
    }

    /// Parses `Name <address>` or `address`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (name, address) = match text.rsplit_once('<') {
            Some((name, rest)) => (name.trim(), rest.split('>').next().unwrap_or_default().trim()),
            None => ("", text),
        };
        (address.contains('@') && !address.contains(char::is_whitespace))
            .then(|| Self { name: unquote(name), address: address.to_owned() })
    }
}
