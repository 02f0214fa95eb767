//! JSON text to values. Differs from `serde_json` where Go differs: lone surrogates and bytes that are no UTF-8 are
//! repaired, and repeated members and the digits of numbers are kept.

use super::node::Node;

/// Parses one value with nothing but white space around it; at most `depth` arrays and objects in each other.
pub fn parse(text: &[u8], depth: usize) -> Result<Node, String> {
    let mut parser = Parser { text, at: 0, depth };
    parser.skip_space();
    let value = parser.value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("after the top-level value")),
    }
}

/// Parses the first value; what comes after it is not looked at.
pub fn parse_first(text: &[u8], depth: usize) -> Result<Node, String> {
    let mut parser = Parser { text, at: 0, depth };
    parser.skip_space();
    parser.value()
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

    fn value(&mut self) -> Parsed<Node> {
        match self.peek() {
            Some(b'{') => self.members().map(Node::Object),
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(Node::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Node::Bool(true)),
            Some(b'f') => self.word("false", Node::Bool(false)),
            Some(b'n') => self.word("null", Node::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn word(&mut self, word: &str, value: Node) -> Parsed<Node> {
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

    fn array(&mut self) -> Parsed<Node> {
        self.enter()?;
        let mut items = Vec::new();
        while self.peek() != Some(b']') {
            if !items.is_empty() {
                self.expect(b',', "after array element")?;
                self.skip_space();
            }
            items.push(self.value()?);
            self.skip_space();
        }
        self.leave();
        Ok(Node::List(items))
    }

    fn members(&mut self) -> Parsed<Vec<(String, Node)>> {
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
            let key = self.string()?;
            self.skip_space();
            self.expect(b':', "after object key")?;
            self.skip_space();
            members.push((key, self.value()?));
            self.skip_space();
        }
        self.leave();
        Ok(members)
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let start = self.at;
            while matches!(self.peek(), Some(byte) if byte >= b' ' && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            push_repaired(&mut text, &self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    /// The character that an escape means; the backslash is behind us.
    fn escape(&mut self) -> Parsed<char> {
        let letter = match self.peek() {
            Some(letter @ (b'"' | b'\\' | b'/')) => char::from(letter),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(letter)
    }

    /// The character of `\uXXXX`, or of a pair of them; half a pair is U+FFFD and leaves what follows alone.
    fn unicode(&mut self) -> Parsed<char> {
        let first = self.four_digits()?;
        if let Some(letter) = char::from_u32(first) {
            return Ok(letter);
        }
        if first < 0xdc00 && self.text[self.at..].starts_with(br"\u") {
            let back = self.at;
            self.at += 2;
            let second = self.four_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn four_digits(&mut self) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.unexpected("in \\u hexadecimal character escape"))?;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Parsed<Node> {
        let start = self.at;
        self.skip(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.skip(b'.') {
            self.digits()?;
        }
        if self.skip(b'e') || self.skip(b'E') {
            let _signed = self.skip(b'+') || self.skip(b'-');
            self.digits()?;
        }
        Ok(Node::Number(String::from_utf8_lossy(&self.text[start..self.at]).into_owned()))
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn digits(&mut self) -> Parsed<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("in numeric literal"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }
}

/// Adds bytes as text, each one that is no UTF-8 as U+FFFD.
fn push_repaired(text: &mut String, bytes: &[u8]) {
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
    fn values_of_every_kind_are_read() {
        let text = r#" { "a" : [ 1 , -2.5e1 , true , false , null , "x\n\/\u00e9" , [] , { } ] } "#;
        assert_eq!(read(text).unwrap(), json!({"a": [1, -25, true, false, null, "x\n/é", [], {}]}));
    }

    #[test]
    fn strings_are_repaired_as_go_does() {
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
    fn numbers_are_floats_and_whole_ones_are_written_whole() {
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
    fn what_is_no_json_is_refused() {
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
    fn depth_is_bounded() {
        assert!(read("[".repeat(10) + &"]".repeat(10)).is_ok());
        assert!(read("[".repeat(11) + &"]".repeat(11)).is_err());
        assert!(read("{\"a\":".repeat(500_000)).is_err());
        assert!(read(format!("[{}]", "[],".repeat(1000) + "[]")).is_ok());
    }

    #[test]
    fn the_last_of_two_members_wins_inside() {
        assert_eq!(read(r#"[{"a":1,"a":2}]"#).unwrap(), json!([{"a": 2}]));
    }
}
