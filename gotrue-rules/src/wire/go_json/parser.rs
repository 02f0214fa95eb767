//! JSON text to values. Differs from `serde_json` where Go differs: lone surrogates and bytes that are no UTF-8 are
//! repaired, every number is a 64-bit float, and the top level keeps repeated members.

use serde_json::{Map, Number, Value};

/// The top-level value.
pub enum Top {
    /// An object, its members in the order they came.
    Object(Vec<(String, Value)>),
    /// Anything else.
    Other(Value),
}

/// Parses one value with nothing but white space around it; at most `depth` arrays and objects in each other.
pub fn parse(text: &[u8], depth: usize) -> Result<Top, String> {
    let mut parser = Parser { text, at: 0, depth };
    let top = parser.top()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(top),
        Some(_) => Err(parser.unexpected("after the top-level value")),
    }
}

/// Parses the first value; what comes after it is not looked at.
pub fn parse_first(text: &[u8], depth: usize) -> Result<Top, String> {
    Parser { text, at: 0, depth }.top()
}

type Parsed<T> = Result<T, String>;

const END: &str = "unexpected end of JSON input";

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn top(&mut self) -> Parsed<Top> {
        self.skip_space();
        Ok(match self.peek() {
            Some(b'{') => Top::Object(self.members()?),
            _ => Top::Other(self.value()?),
        })
    }

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

    fn value(&mut self) -> Parsed<Value> {
        match self.peek() {
            Some(b'{') => {
                let members = self.members()?;
                Ok(Value::Object(Map::from_iter(members)))
            }
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Parsed<Value> {
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

    fn array(&mut self) -> Parsed<Value> {
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
        Ok(Value::Array(items))
    }

    fn members(&mut self) -> Parsed<Vec<(String, Value)>> {
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

    /// The character of `\uXXXX`, or of a pair of them; half a pair is U+FFFD and leaves what follows alone. U+0000 is
    /// refused: the database stores no text that holds it, and would fail where a caller can be told.
    fn unicode(&mut self) -> Parsed<char> {
        let first = self.four_digits()?;
        if first == 0 {
            return Err("the character U+0000 cannot be stored; leave it out".to_owned());
        }
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

    fn number(&mut self) -> Parsed<Value> {
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
        let literal = &self.text[start..self.at];
        let read = std::str::from_utf8(literal).ok().and_then(|text| text.parse::<f64>().ok());
        let number = read.filter(|number| number.is_finite()).and_then(as_go_writes);
        number.map(Value::Number).ok_or_else(|| "a number is too large for 64 bits".to_owned())
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

/// A float as Go would write it: whole ones without a fraction.
#[expect(clippy::cast_possible_truncation, reason = "the range is looked at first")]
pub fn as_go_writes(number: f64) -> Option<Number> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) {
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
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
    use serde_json::json;

    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Parsed<Value> {
        match parse(text.as_ref(), 10)? {
            Top::Object(members) => Ok(Value::Object(Map::from_iter(members))),
            Top::Other(value) => Ok(value),
        }
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
