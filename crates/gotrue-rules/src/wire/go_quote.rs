//! Quoted texts in error messages, as in Go.

use std::fmt::Write;

/// Quotes a text as Go's verb `%q` does: unprintable characters are escaped.
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
            _ if is_printable(character) => write!(quoted, "{character}"),
            '\u{80}'..='\u{ffff}' => write!(quoted, "\\u{:04x}", u32::from(character)),
            _ => write!(quoted, "\\U{:08x}", u32::from(character)),
        };
        written.expect("writing to a String cannot fail");
    }
    quoted.push('"');
    quoted
}

/// Whether Go prints a character as it is: letters, marks, numbers, punctuation and symbols.
fn is_printable(character: char) -> bool {
    // At the start of a text, Rust escapes the marks that extend a character.
    format!("a{character}").escape_debug().count() == 2
}

/// Quotes a text as Go's package `time` does in its errors, which differ from `%q`.
/// Bytes other than printable ASCII become `\xNN`.
pub fn go_time_quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' | 0x7f => quoted.push(char::from(byte)),
            _ => quoted.extend(format!("\\x{byte:02x}").chars()),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unprintable_characters_are_escaped() {
        let table = [
            ("", r#""""#),
            ("custom:acme", r#""custom:acme""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\n\t\r\u{7}\u{0}\u{7f}", r#""\n\t\r\a\x00\x7f""#),
            ("Zoë 日本 😀", "\"Zoë 日本 😀\""),
            ("\u{200b}\u{85}\u{e0001}", r#""\u200b\u0085\U000e0001""#),
            ("\u{2764}\u{fe0f} e\u{301}\u{a0}\u{200d}", "\"\u{2764}\u{fe0f} e\u{301}\\u00a0\\u200d\""),
        ];
        for (text, expected) in table {
            assert_eq!(go_quote(text), expected);
        }
    }

    #[test]
    fn errors_of_go_time_escape_bytes() {
        for (text, expected) in [("3 d", r#""3 d""#), ("a\"\\", r#""a\"\\""#), ("ä\n", r#""\xc3\xa4\x0a""#)] {
            assert_eq!(go_time_quote(text), expected);
        }
    }
}
