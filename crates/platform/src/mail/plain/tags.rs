//! Splits HTML into tags and text, as lenient as a browser: what is not a tag is text.

/// A piece of HTML. Comments and declarations are skipped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text with its character references.
    Text(&'a str),
    /// A start tag.
    Open(Tag<'a>),
    /// An end tag, its name in lower case.
    Close(String),
}

/// A start tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// The name in lower case.
    pub name: String,
    /// Whether the tag is self-closing: `<br/>`.
    pub is_closed: bool,
    attributes: &'a str,
}

/// Raw text elements: only their own end tag ends them.
const RAW: [&str; 4] = ["script", "style", "title", "textarea"];

/// Returns the pieces of `html` in order.
pub(super) fn tokenize(html: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = html;
    let mut raw: Option<String> = None;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            if let Some(name) = raw.take() {
                let end = find_end_of_raw(rest, &name);
                let text = &rest[..end];
                rest = &rest[end..];
                return Some(Token::Text(text));
            }
            let Some(inside) = rest.strip_prefix('<') else {
                let end = rest.find('<').unwrap_or(rest.len());
                return Some(Token::Text(split_off(&mut rest, end)));
            };
            if let Some(comment) = inside.strip_prefix("!--") {
                rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
                continue;
            }
            if inside.starts_with(['!', '?']) {
                rest = inside.find('>').map_or("", |end| &inside[end + 1..]);
                continue;
            }
            if !inside.strip_prefix('/').unwrap_or(inside).starts_with(|c: char| c.is_ascii_alphabetic()) {
                // A `<` that starts no tag.
                let end = inside.find('<').map_or(rest.len(), |at| at + 1);
                return Some(Token::Text(split_off(&mut rest, end)));
            }
            // An unterminated tag extends to the end.
            let end = find_end_of_tag(inside)?;
            let tag = &inside[..end];
            rest = &inside[end + 1..];
            let token = parse_tag(tag);
            if let Token::Open(Tag { name, is_closed: false, .. }) = &token {
                raw = RAW.contains(&name.as_str()).then(|| name.clone());
            }
            return Some(token);
        }
    })
}

fn split_off<'a>(rest: &mut &'a str, end: usize) -> &'a str {
    let (text, after) = rest.split_at(end);
    *rest = after;
    text
}

/// Returns the position of the `>` outside quotes.
fn find_end_of_tag(inside: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in inside.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}

fn find_end_of_raw(rest: &str, name: &str) -> usize {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let start = from + at;
        let after = &rest.as_bytes()[start + 2..];
        if after.len() >= name.len() && after[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            return start;
        }
        from = start + 2;
    }
    rest.len()
}

fn parse_tag(tag: &str) -> Token<'_> {
    let is_end = tag.starts_with('/');
    let tag = tag.trim_start_matches('/');
    let end = tag.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(tag.len());
    let (name, attributes) = tag.split_at(end);
    let name = name.to_ascii_lowercase();
    if is_end {
        Token::Close(name)
    } else {
        Token::Open(Tag { name, is_closed: attributes.ends_with('/'), attributes })
    }
}

impl Tag<'_> {
    /// Returns the value of an attribute, empty if it has none; character references are not decoded.
    pub(super) fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() {
                return None;
            }
            let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '/').unwrap_or(rest.len());
            let (name, after) = rest.split_at(end.max(rest.chars().next().map_or(0, char::len_utf8)));
            let (value, after) = parse_value(after.trim_start());
            if name.eq_ignore_ascii_case(wanted) {
                return Some(value.to_owned());
            }
            rest = after;
        }
    }
}

/// Parses the value after an attribute's name, and returns it with the rest.
fn parse_value(after: &str) -> (&str, &str) {
    let Some(after) = after.strip_prefix('=') else { return ("", after) };
    let after = after.trim_start();
    for quote in ['"', '\''] {
        if let Some(quoted) = after.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    after.split_at(after.find(char::is_whitespace).unwrap_or(after.len()))
}
