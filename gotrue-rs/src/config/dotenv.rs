//! Files of variables: `NAME=value` lines as the reference reads them, or a JSON object of strings.
//!
//! Comments start with `#` at the beginning of a line or after white space. A line may start with `export`, and `:` may
//! replace `=`. Values may be quoted and then span lines; `\n`, `\r` and `\"` are escapes in double quotes only.
//! Variables are not expanded.

use std::collections::BTreeMap;

/// Parses `NAME=value` lines. The error names the invalid line.
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
        variables.insert(name.to_owned(), value);
        rest = after.trim_start();
    }
    Ok(variables)
}

/// Parses a JSON object whose members are strings.
pub fn parse_json(text: &str) -> Result<BTreeMap<String, String>, String> {
    serde_json::from_str(text).map_err(|error| format!("is not a JSON object of texts: {error}"))
}

/// Whether a character is white space within a line.
fn is_blank(c: char) -> bool {
    c != '\n' && c.is_whitespace()
}

fn parse_name(text: &str) -> Result<(&str, &str), &'static str> {
    let text = match text.strip_prefix("export") {
        Some(after) if after.starts_with(is_blank) => after.trim_start_matches(is_blank),
        _ => text,
    };
    let end = text.find(['=', ':', '\n']).ok_or("has no `=`")?;
    let name = text[..end].trim_end();
    if text[end..].starts_with('\n') {
        return Err("has no `=`");
    }
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.') {
        return Err("does not start with a name of letters, digits and `_`");
    }
    Ok((name, text[end + 1..].trim_start_matches(is_blank)))
}

fn parse_value(text: &str) -> Result<(String, &str), &'static str> {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => parse_quoted(&text[1..], quote),
        _ => Ok(parse_unquoted(text)),
    }
}

/// Parses an unquoted value, which ends at its line's end or at a comment.
fn parse_unquoted(text: &str) -> (String, &str) {
    let end = text.find(['\n', '\r']).unwrap_or(text.len());
    let (line, rest) = text.split_at(end);
    let comment = line
        .char_indices()
        .find(|(at, c)| *c == '#' && line[..*at].ends_with(is_blank))
        .map_or(line.len(), |(at, _)| at);
    (line[..comment].trim_matches(is_blank).replace("\\$", "$"), rest)
}

fn parse_quoted(text: &str, quote: char) -> Result<(String, &str), &'static str> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' if quote == '"' => return Ok((value.replace("\\$", "$"), &text[at + 1..])),
            c if c == quote => return Ok((value, &text[at + 1..])),
            '\\' if quote == '"' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, escaped)) => value.push(escaped),
                None => break,
            },
            '\\' => {
                value.push('\\');
                if let Some((_, escaped)) = characters.next() {
                    value.push(escaped);
                }
            }
            c => value.push(c),
        }
    }
    Err("opens a quote that is never closed")
}
