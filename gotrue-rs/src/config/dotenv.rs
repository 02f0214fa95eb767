//! Files of variables: `NAME=value` lines as the reference reads them, or a JSON object of strings.
//!
//! Comments start with `#` at the beginning of a line; in an unquoted value the last `#` after white space starts one. A
//! line may start with `export`, and `:` may replace `=`. Values may be quoted and then span lines; a quote after a
//! backslash does not end them. `\n`, `\r` and other escapes have an effect in double quotes only. Variables are not
//! expanded.

use std::collections::BTreeMap;

/// Parses `NAME=value` lines. The error names the invalid line.
///
/// An empty name is ignored, as is a last line without `=` and line ending.
pub fn parse_lines(text: &str) -> Result<BTreeMap<String, String>, String> {
    let text = text.replace("\r\n", "\n");
    let mut variables = BTreeMap::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if rest.starts_with('#') {
            rest = rest.find('\n').map_or("", |end| rest[end..].trim_start());
            continue;
        }
        let line = 1 + text[..text.len() - rest.len()].matches('\n').count();
        let (name, after) = parse_name(rest).map_err(|wrong| format!("line {line} {wrong}"))?;
        let (value, after) = parse_value(after).map_err(|wrong| format!("line {line} {wrong}"))?;
        if !name.is_empty() {
            variables.insert(name.to_owned(), value);
        }
        rest = after.trim_start();
    }
    Ok(variables)
}

/// Parses a JSON object whose members are strings; `null` is an empty string or object.
pub fn parse_json(text: &str) -> Result<BTreeMap<String, String>, String> {
    let parsed: Result<Option<BTreeMap<String, Option<String>>>, _> = serde_json::from_str(text);
    let variables = parsed.map_err(|error| format!("is not a JSON object of texts: {error}"))?.unwrap_or_default();
    Ok(variables.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect())
}

/// Whether a character is white space within a line.
fn is_blank(c: char) -> bool {
    matches!(c, '\t' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{85}' | '\u{a0}')
}

/// Parses a name up to its `=` or `:`; it may contain white space.
///
/// The name is empty if the text has neither. The reference judges every byte as a character of Latin-1.
fn parse_name(text: &str) -> Result<(&str, &str), &'static str> {
    let text = match text.strip_prefix("export") {
        Some(after) if after.starts_with(is_blank) => after.trim_start_matches(is_blank),
        _ => text,
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.') || is_blank(c);
    match text.bytes().position(|byte| !is_part(char::from(byte))) {
        Some(end) if matches!(text.as_bytes()[end], b'=' | b':') => {
            Ok((text[..end].trim_end(), text[end + 1..].trim_start_matches(is_blank)))
        }
        Some(end) if text.as_bytes()[end] == b'\n' => Err("has no `=`"),
        None if !text.is_empty() => Ok(("", text)),
        _ => Err("does not start with a name of letters, digits and `_`"),
    }
}

fn parse_value(text: &str) -> Result<(String, &str), &'static str> {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => parse_quoted(text, quote),
        _ => Ok(parse_unquoted(text)),
    }
}

/// Parses an unquoted value, which ends at its line's end or at the last comment.
fn parse_unquoted(text: &str) -> (String, &str) {
    let end = text.find(['\n', '\r']).unwrap_or(text.len());
    let (line, rest) = text.split_at(end);
    let comment = line.rmatch_indices('#').map(|(at, _)| at).find(|at| line[..*at].ends_with(is_blank));
    (remove_escapes_of_dollars(line[..comment.unwrap_or(end)].trim_matches(is_blank)), rest)
}

/// Parses a value from its opening quote on.
///
/// It ends at the next quote without a backslash before it, and has no quotes at its ends.
fn parse_quoted(text: &str, quote: char) -> Result<(String, &str), &'static str> {
    let is_end = |at: &usize| *at > 0 && !text[..*at].ends_with('\\');
    let end = text.match_indices(quote).map(|(at, _)| at).find(is_end).ok_or("opens a quote that is never closed")?;
    let value = text[..end].trim_matches(quote);
    let value = if quote == '"' { remove_escapes_of_dollars(&unescape(value)) } else { value.to_owned() };
    Ok((value, &text[end + 1..]))
}

/// Replaces escapes except `\$`: `\n` and `\r` by line endings, the others by their second character.
fn unescape(text: &str) -> String {
    let mut unescaped = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, if c == '\\' { characters.next() } else { None }) {
            ('\\', Some('n')) => unescaped.push('\n'),
            ('\\', Some('r')) => unescaped.push('\r'),
            ('\\', Some('$')) => unescaped.push_str("\\$"),
            ('\\', Some(escaped)) => unescaped.push(escaped),
            _ => unescaped.push(c),
        }
    }
    unescaped
}

fn remove_escapes_of_dollars(text: &str) -> String {
    text.replace("\\$", "$")
}
