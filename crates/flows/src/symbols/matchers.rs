//! Recognises ids, times, tokens and secrets by their form.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// How a time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeForm {
    /// In the year 1.
    Zero,
    /// With `Z`.
    Utc,
    Offset,
}

/// Returns the positions of ids of the form 8-4-4-4-12.
pub(super) fn find_uuids(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at + 36 <= bytes.len() {
        if is_uuid_bytes(&bytes[at..at + 36]) {
            found.push(at);
            at += 36;
        } else {
            at += 1;
        }
    }
    found
}

/// Returns whether the whole text is an id.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36 && is_uuid_bytes(text.as_bytes())
}

fn is_uuid_bytes(bytes: &[u8]) -> bool {
    // Most texts are excluded by this one byte.
    bytes[8] == b'-'
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns how a text is written that is an RFC 3339 time.
pub(super) fn time_form(text: &str) -> Option<TimeForm> {
    const PATTERN: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let head = bytes.get(..PATTERN.len())?;
    let fits = |(byte, pattern): (&u8, &u8)| if *pattern == b'0' { byte.is_ascii_digit() } else { byte == pattern };
    if !head.iter().zip(PATTERN).all(fits) {
        return None;
    }
    let mut rest = &text[PATTERN.len()..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let end = fraction.find(|byte: char| !byte.is_ascii_digit())?;
        rest = (end > 0).then(|| &fraction[end..])?;
    }
    let form = match rest.as_bytes() {
        b"Z" => TimeForm::Utc,
        [b'+' | b'-', a, b, b':', c, d] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()) => TimeForm::Offset,
        _ => return None,
    };
    Some(if text.starts_with("0001") { TimeForm::Zero } else { form })
}

/// Returns header and claims of a signed token.
pub(super) fn parse_jwt(text: &str) -> Option<(Value, Value)> {
    let mut parts = text.split('.');
    let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
    let is_part = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let has_form = header.len() > 2 && claims.len() > 2 && header.starts_with("ey") && claims.starts_with("ey");
    if !has_form || parts.next().is_some() || ![header, claims, signature].into_iter().all(is_part) {
        return None;
    }
    let decode = |part: &str| serde_json::from_slice::<Value>(&decode_base64url(part)?).ok();
    Some((decode(header)?, decode(claims)?))
}

/// Returns the claims of a signed token, without checking the signature.
pub(crate) fn jwt_claims(text: &str) -> Option<Value> {
    parse_jwt(text).map(|(_, claims)| claims)
}

/// Returns the header of a signed token.
pub(crate) fn jwt_header(text: &str) -> Option<Value> {
    parse_jwt(text).map(|(header, _)| header)
}

/// Decodes base64url with or without padding.
pub(crate) fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// Returns whether a text is the code of an error.
///
/// It has words with `_` between them, the five characters of SQL, `PGRST` with a number, or a status.
pub(crate) fn is_error_code(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let are_words = text.contains('_') && text.split('_').all(is_word);
    let is_sql = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let is_number = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_postgrest = text.strip_prefix("PGRST").is_some_and(is_number);
    are_words || is_sql || is_postgrest || is_number(text) || matches!(text, "unknown" | "conflict")
}

/// Returns whether a member has a number of the API: of sessions, lists and passkeys.
pub(crate) fn is_number_member(name: &str) -> bool {
    const OF_LISTS: [&str; 6] =
        ["totalResults", "startIndex", "itemsPerPage", "maxResults", "maxOperations", "maxPayloadSize"];
    matches!(name, "expires_in" | "alg" | "timeout") || OF_LISTS.contains(&name)
}

/// Returns alphabet and length of an opaque secret.
///
/// Twelve characters are a refresh token, even if all of them are hexadecimal digits.
pub(crate) fn shape(text: &str) -> String {
    let length = text.chars().count();
    let all = |accepts: fn(char) -> bool| !text.is_empty() && text.chars().all(accepts);
    let is_word = |each: char| each.is_alphanumeric() || each == '_';
    let base32 = text.trim_end_matches('=');
    let alphabet = if all(|each| each.is_ascii_digit()) {
        "digits"
    } else if length != 12 && all(|each| matches!(each, '0'..='9' | 'a'..='f')) {
        "hex"
    } else if !base32.is_empty() && base32.chars().all(|each| matches!(each, 'A'..='Z' | '2'..='7')) {
        "base32"
    } else if !text.is_empty() && text.chars().all(|each| is_word(each) || each == '-') {
        "base64url"
    } else if !text.is_empty() && text.chars().all(|each| is_word(each) || matches!(each, '+' | '/' | '=' | '-')) {
        "base64"
    } else {
        "text"
    };
    format!("{alphabet}:{length}")
}
