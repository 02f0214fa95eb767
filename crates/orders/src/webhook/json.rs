//! Reads values of a provider's JSON, with limits.

use foundation::email::Email;
use serde_json::Value;

/// The longest text, in bytes.
const MAX_TEXT: usize = 255;
/// The longest identifier, in bytes.
const MAX_IDENTIFIER: usize = 120;
/// The largest number of copies that is believed.
const MAX_QUANTITY: u32 = 100_000;

/// Returns a text of one line at a pointer (RFC 6901).
pub fn find_text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = value.pointer(pointer)?.as_str()?.trim();
    let is_line = !text.is_empty() && text.len() <= MAX_TEXT && !text.contains(char::is_control);
    is_line.then_some(text)
}

/// Returns a text or a number as text.
pub fn find_reference(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::Number(number) => Some(number.to_string()),
        _ => find_text(value, pointer).map(str::to_owned),
    }
}

/// Returns an id that may be a segment of a path.
pub fn find_identifier(value: &Value, pointer: &str) -> Option<String> {
    find_reference(value, pointer).filter(|id| is_identifier(id))
}

/// Returns whether a text consists of letters, digits, `-` and `_`.
pub fn is_identifier(text: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MAX_IDENTIFIER).contains(&text.len()) && text.bytes().all(is_valid)
}

/// Returns an address that a mail can be sent to, in lower case.
pub fn find_address(value: &Value, pointer: &str) -> Option<String> {
    parse_address(find_text(value, pointer)?)
}

/// Returns a text as an address, by the rules for the addresses of accounts.
pub fn parse_address(text: &str) -> Option<String> {
    Email::parse(text).ok().map(Email::into_string)
}

/// Returns the number of copies of an item: a number, or digits.
pub fn read_quantity(value: &Value) -> Option<u32> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u32::try_from(number).ok().filter(|number| (1..=MAX_QUANTITY).contains(number))
}

/// Returns the copies of the only item of a list; `None` for several, which may be different things.
pub fn find_only_quantity(items: &Value, member: &str) -> Option<u32> {
    match items.as_array().map(Vec::as_slice) {
        Some([item]) => read_quantity(&item[member]),
        _ => None,
    }
}

/// Returns a currency code in capitals.
pub fn find_currency(value: &Value, pointer: &str) -> Option<String> {
    let code = find_text(value, pointer)?;
    (code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_alphabetic())).then(|| code.to_ascii_uppercase())
}
