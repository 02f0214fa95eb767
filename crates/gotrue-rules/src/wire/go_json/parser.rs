//! JSON parser with Go's behaviour where it differs from `serde_json`.
//!
//! Lone surrogates and invalid UTF-8 are replaced; repeated members and the digits of numbers are kept.

use super::node::Node;

/// Maximum nesting depth of arrays and objects, the body included.
///
/// GoTrue allows 10000. A deeper value than this could be stored, but not decoded by `serde_json`, so that its user
/// could not sign in again.
pub const MAX_DEPTH: usize = 100;

/// Parses one value with optional white space around it; at most `depth` nested arrays and objects.
pub(super) fn parse(text: &[u8], depth: usize) -> Result<Node, String> {
    let mut parser = Parser { text, at: 0, depth };
    parser.skip_space();
    let value = parser.parse_value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("after the top-level value")),
    }
}

/// Parses the first value and ignores the rest.
pub(super) fn parse_first(text: &[u8], depth: usize) -> Result<Node, String> {
    let mut parser = Parser { text, at: 0, depth };
    parser.skip_space();
    parser.parse_value()
}

type Parsed<T> = Result<T, String>;

const END: &str = "unexpected end of JSON input";

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, place: &str) -> String {
        match self.peek() {
            None => END.to_owned(),
            Some(byte) => format!("invalid character {:?} {place}", char::from(byte)),
        }
    }

    fn expect(&mut self, byte: u8, place: &str) -> Parsed<()> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(place));
        }
        self.at += 1;
        Ok(())
    }

    fn parse_value(&mut self) -> Parsed<Node> {
        match self.peek() {
            Some(b'{') => self.parse_members().map(Node::Object),
            Some(b'[') => self.parse_array(),
            Some(b'"') => self.parse_string().map(Node::Text),
            Some(b'-' | b'0'..=b'9') => self.parse_number(),
            Some(b't') => self.parse_literal("true", Node::Bool(true)),
            Some(b'f') => self.parse_literal("false", Node::Bool(false)),
            Some(b'n') => self.parse_literal("null", Node::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn parse_literal(&mut self, word: &str, value: Node) -> Parsed<Node> {
        for byte in word.bytes() {
            self.expect(byte, &format!("in the literal {word}"))?;
        }
        Ok(value)
    }

    fn enter(&mut self) -> Parsed<()> {
        self.depth = self.depth.checked_sub(1).ok_or("arrays and objects lie too deep in each other")?;
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    fn leave(&mut self) {
        self.depth += 1;
        self.at += 1;
    }

    fn parse_array(&mut self) -> Parsed<Node> {
        self.enter()?;
        let mut items = Vec::new();
        while self.peek() != Some(b']') {
            if !items.is_empty() {
                self.expect(b',', "after array element")?;
                self.skip_space();
            }
            items.push(self.parse_value()?);
            self.skip_space();
        }
        self.leave();
        Ok(Node::List(items))
    }

    fn parse_members(&mut self) -> Parsed<Vec<(String, Node)>> {
        self.enter()?;
        let mut members = Vec::new();
        while self.peek() != Some(b'}') {
            if !members.is_empty() {
                self.expect(b',', "after object key:value pair")?;
                self.skip_space();
            }
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let key = self.parse_string()?;
            self.skip_space();
            self.expect(b':', "after object key")?;
            self.skip_space();
            members.push((key, self.parse_value()?));
            self.skip_space();
        }
        self.leave();
        Ok(members)
    }

    fn parse_string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let start = self.at;
            while matches!(self.peek(), Some(byte) if byte >= b' ' && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            push_lossy(&mut text, &self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.parse_escape()?);
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    /// Parses an escape after the backslash.
    fn parse_escape(&mut self) -> Parsed<char> {
        let character = match self.peek() {
            Some(character @ (b'"' | b'\\' | b'/')) => char::from(character),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.parse_unicode();
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(character)
    }

    /// Parses `\uXXXX` or a surrogate pair; a lone surrogate is U+FFFD and does not consume what follows.
    fn parse_unicode(&mut self) -> Parsed<char> {
        let first = self.parse_four_digits()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        if first < 0xdc00 && self.text[self.at..].starts_with(br"\u") {
            let back = self.at;
            self.at += 2;
            let second = self.parse_four_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn parse_four_digits(&mut self) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.unexpected("in \\u hexadecimal character escape"))?;
            self.at += 1;
        }
        Ok(code)
    }

    fn parse_number(&mut self) -> Parsed<Node> {
        let start = self.at;
        self.skip(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.skip_digits()?,
        }
        if self.skip(b'.') {
            self.skip_digits()?;
        }
        if self.skip(b'e') || self.skip(b'E') {
            let _signed = self.skip(b'+') || self.skip(b'-');
            self.skip_digits()?;
        }
        Ok(Node::Number(String::from_utf8_lossy(&self.text[start..self.at]).into_owned()))
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_digits(&mut self) -> Parsed<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("in numeric literal"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }
}

/// Appends bytes as text; each invalid byte becomes U+FFFD.
fn push_lossy(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Parsed<Value> {
        parse(text.as_ref(), 10)?.into_value()
    }

    #[test]
    fn values_of_every_type_parse() {
        let text = r#" { "a" : [ 1 , -2.5e1 , true , false , null , "x\n\/\u00e9" , [] , { } ] } "#;
        assert_eq!(read(text).unwrap(), json!({"a": [1, -25, true, false, null, "x\n/é", [], {}]}));
    }

    #[test]
    fn strings_are_repaired_as_in_go() {
        for (text, meaning) in [
            (&br#""\ud83d\udc0e""#[..], "🐎"),
            (br#""\ud83d""#, "\u{fffd}"),
            (br#""\ud83dA""#, "\u{fffd}A"),
            (br#""\ud83d\u0041""#, "\u{fffd}A"),
            (br#""\ud83d\ud83d\udc0e""#, "\u{fffd}🐎"),
            (br#""\udc0e\ud83d""#, "\u{fffd}\u{fffd}"),
            (b"\"a\xe2\x82b\"", "a\u{fffd}\u{fffd}b"),
            (b"\"\xed\xa0\x80\"", "\u{fffd}\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(read(text).unwrap(), json!(meaning), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_floats_and_integers_have_no_fraction() {
        for (text, written) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("1e3", "1000"),
            ("2.50", "2.5"),
            ("9007199254740993", "9007199254740992"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("1e400000", ""),
            ("01", ""),
            ("1.", ""),
            (".5", ""),
            ("+1", ""),
            ("-", ""),
            ("1e", ""),
            ("0x10", ""),
            ("NaN", ""),
        ] {
            assert_eq!(read(text).map(|value| value.to_string()).unwrap_or_default(), written, "{text}");
        }
    }

    #[test]
    fn invalid_json_is_rejected() {
        for text in [
            "",
            " ",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "\"a",
            "\"\\x\"",
            "\"\\u0000\"",
            "{\"a\\u0000\":1}",
            "\"\\u12g4\"",
            "\"\t\"",
            "\"\n\"",
            "tru",
            "truex",
            "//",
            "[1]]",
            "\"\\",
            "\"\\u12",
            "\"\\ud83d\\u",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn nesting_depth_is_limited() {
        assert!(read("[".repeat(10) + &"]".repeat(10)).is_ok());
        assert!(read("[".repeat(11) + &"]".repeat(11)).is_err());
        assert!(read("{\"a\":".repeat(500_000)).is_err());
        assert!(read(format!("[{}]", "[],".repeat(1000) + "[]")).is_ok());
    }

    #[test]
    fn last_of_repeated_nested_members_wins() {
        assert_eq!(read(r#"[{"a":1,"a":2}]"#).unwrap(), json!([{"a": 2}]));
    }
}
