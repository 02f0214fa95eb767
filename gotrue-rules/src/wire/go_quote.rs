//! Texts in quotation marks as the reference's messages show them (Go's verb `%q`).

use std::fmt::Write;

/// The text in quotation marks, with escapes for what cannot be shown.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        let written = match letter {
            '"' | '\\' => write!(quoted, "\\{letter}"),
            '\u{7}' => write!(quoted, "\\a"),
            '\u{8}' => write!(quoted, "\\b"),
            '\u{c}' => write!(quoted, "\\f"),
            '\n' => write!(quoted, "\\n"),
            '\r' => write!(quoted, "\\r"),
            '\t' => write!(quoted, "\\t"),
            '\u{b}' => write!(quoted, "\\v"),
            ' '..='~' => write!(quoted, "{letter}"),
            _ if letter.is_ascii() => write!(quoted, "\\x{:02x}", u32::from(letter)),
            _ if letter.escape_debug().len() == 1 => write!(quoted, "{letter}"),
            '\u{80}'..='\u{ffff}' => write!(quoted, "\\u{:04x}", u32::from(letter)),
            _ => write!(quoted, "\\U{:08x}", u32::from(letter)),
        };
        written.expect("a text takes whatever is written to it");
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_cannot_be_shown_is_escaped() {
        let table = [
            ("", r#""""#),
            ("custom:acme", r#""custom:acme""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\n\t\r\u{7}\u{0}\u{7f}", r#""\n\t\r\a\x00\x7f""#),
            ("Zoë 日本 😀", "\"Zoë 日本 😀\""),
            ("\u{200b}\u{85}\u{e0001}", r#""\u200b\u0085\U000e0001""#),
        ];
        for (text, expected) in table {
            assert_eq!(quoted(text), expected);
        }
    }
}
