//! The configuration file: `key = value` lines with texts, numbers and truth values.

use std::collections::BTreeMap;

/// The settings of a file; values as texts.
///
/// # Errors
/// The line that cannot be read, and why.
pub fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut settings = BTreeMap::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut line = 1;
    while let Some(start) = skip_blank(rest, &mut line) {
        let refuse = |reason: &str| format!("line {line}: {reason}");
        let (key, value) = start.split_once('=').ok_or_else(|| refuse("expected key = value"))?;
        let key = key.trim();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if key.is_empty() || !key.chars().all(is_name) {
            return Err(refuse("a key holds letters, digits, '-', '_' and '.' only"));
        }
        let value = value.trim_start_matches([' ', '\t']);
        let (value, after) = read_value(value).ok_or_else(|| refuse("a text lacks its closing quotation mark"))?;
        let (tail, after) = after.split_once('\n').unwrap_or((after, ""));
        let tail = tail.trim();
        if !tail.is_empty() && !tail.starts_with('#') {
            return Err(refuse("unexpected text behind the value"));
        }
        line += start[..start.len() - after.len()].matches('\n').count();
        settings.insert(key.to_owned(), value);
        rest = after;
    }
    Ok(settings)
}

/// The text from the next line on that holds a setting.
fn skip_blank<'a>(mut text: &'a str, line: &mut usize) -> Option<&'a str> {
    loop {
        if text.is_empty() {
            return None;
        }
        let (first, after) = text.split_once('\n').unwrap_or((text, ""));
        let content = first.trim();
        if !content.is_empty() && !content.starts_with('#') {
            return Some(text);
        }
        *line += 1;
        text = after;
    }
}

/// A value and what follows it on its line.
fn read_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['\n', '#']).unwrap_or(text.len());
        return Some((text[..end].trim().to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[index + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                'u' => {
                    let digits: String = characters.by_ref().take(4).map(|(_, c)| c).collect();
                    value.push(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)?);
                }
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn values_are_texts_numbers_and_truth_values() {
        let settings = parse("# comment\ndb-uri = \"post\\\"gres\" # tail\n\nserver-port=3000\r\ndb-config = false\napp.settings.a = \"x\ny\"")
            .unwrap();
        assert_eq!(settings["db-uri"], "post\"gres");
        assert_eq!(settings["server-port"], "3000");
        assert_eq!(settings["db-config"], "false");
        assert_eq!(settings["app.settings.a"], "x\ny");
        assert_eq!(parse("a = \"b\nc").unwrap_err(), "line 1: a text lacks its closing quotation mark");
        assert_eq!(parse("a = 1\nb").unwrap_err(), "line 2: expected key = value");
    }

    proptest::proptest! {
        #[test]
        fn no_file_panics(text in "[a-c=\"\\\\#\n u0-9.]{0,40}") {
            let _ = parse(&text);
        }
    }
}
