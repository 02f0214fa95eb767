//! Quoted texts in error messages, like Go's verb `%q`.

use std::fmt::Write;

/// Quotes a text and escapes unprintable characters.
pub fn go_quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        let written = match character {
            '"' | '\\' => write!(quoted, "\\{character}"),
            '\u{7}' => write!(quoted, "\\a"),
            '\u{8}' => write!(quoted, "\\b"),
            '\u{c}' => write!(quoted, "\\f"),
            '\n' => write!(quoted, "\\n"),
            '\r' => write!(quoted, "\\r"),
            '\t' => write!(quoted, "\\t"),
            '\u{b}' => write!(quoted, "\\v"),
            ' '..='~' => write!(quoted, "{character}"),
            _ if character.is_ascii() => write!(quoted, "\\x{:02x}", u32::from(character)),
            _ if character.escape_debug().len() == 1 => write!(quoted, "{character}"),
            '\u{80}'..='\u{ffff}' => write!(quoted, "\\u{:04x}", u32::from(character)),
            _ => write!(quoted, "\\U{:08x}", u32::from(character)),
        };
        written.expect("writing to a String cannot fail");
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::go_quote;

    #[test]
    fn unprintable_characters_are_escaped() {
        let table = [
            ("", r#""""#),
            ("custom:acme", r#""custom:acme""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\n\t\r\u{7}\u{0}\u{7f}", r#""\n\t\r\a\x00\x7f""#),
            ("Zoë 日本 😀", "\"Zoë 日本 😀\""),
            ("\u{200b}\u{85}\u{e0001}", r#""\u200b\u0085\U000e0001""#),
        ];
        for (text, expected) in table {
            assert_eq!(go_quote(text), expected);
        }
    }
}
