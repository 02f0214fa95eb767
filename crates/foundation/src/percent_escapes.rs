//! Percent-encoding of URLs and forms.

/// Whether two hexadecimal digits follow each `%`.
pub fn has_valid_escapes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    bytes.iter().enumerate().all(|(at, byte)| *byte != b'%' || (is_digit(at + 1) && is_digit(at + 2)))
}
