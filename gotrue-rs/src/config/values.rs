//! Parsers of variables by type, compatible with the reference. Nothing is trimmed.

use std::collections::BTreeMap;
use std::time::Duration;

use foundation::limits::Quota;
use gotrue_rules::domain::redirect::go_url::Url;
use gotrue_rules::wire::go_duration::GoDuration;

const HOUR: Duration = Duration::from_hours(1);
/// Limits calls without a time limit; the deadline of the request usually ends them earlier.
const LONGEST_CALL: Duration = Duration::from_mins(10);

/// Parses `1`, `t`, `T`, `true`, `True`, `TRUE` and the equivalents of *false*.
pub fn parse_boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Parses an integer with an optional sign.
///
/// Decimal, `0x…`, `0b…`, `0o…` or `0…` (octal), with optional `_` between digits.
pub fn parse_integer(text: &str) -> Option<i64> {
    let (negative, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, parse_natural(&text[1..])?),
        b'+' => (false, parse_natural(&text[1..])?),
        _ => (false, parse_natural(text)?),
    };
    let magnitude = i128::from(magnitude);
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// Parses a whole number without a sign, otherwise like [`parse_integer`].
pub fn parse_natural(text: &str) -> Option<u64> {
    let (radix, digits) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &text[2..]),
        Some("0b") => (2, &text[2..]),
        Some("0o") => (8, &text[2..]),
        _ if text.len() > 1 && text.starts_with('0') => (8, &text[1..]),
        _ => (10, text),
    };
    let prefixed = digits.len() < text.len();
    let digits = if prefixed { digits.strip_prefix('_').unwrap_or(digits) } else { digits };
    let well_separated = !digits.starts_with('_') && !digits.ends_with('_') && !digits.contains("__");
    if digits.starts_with(['+', '-']) || !well_separated {
        return None;
    }
    u64::from_str_radix(&digits.replace('_', ""), radix).ok()
}

/// Parses a number with an optional fraction and exponent, decimal or `0x…p…`, `_` between digits.
pub fn parse_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.eq_ignore_ascii_case("nan") && unsigned.len() < text.len() {
        return None;
    }
    let is_hex = unsigned.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"));
    let plain = remove_separators(text, is_hex)?;
    let parsed: f64 = if is_hex { parse_hexadecimal(&plain)? } else { plain.parse().ok()? };
    let too_large = parsed.is_infinite() && text.contains(|c: char| c.is_ascii_digit());
    (!too_large).then_some(parsed)
}

/// Removes each `_`, which must be between two digits or after `0x`.
fn remove_separators(text: &str, is_hex: bool) -> Option<String> {
    let is_digit = |byte: &u8| if is_hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    let bytes = text.as_bytes();
    let stands_well = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let follows_prefix = is_hex && before.is_some_and(|byte| byte.eq_ignore_ascii_case(&b'x'));
        (follows_prefix || before.is_some_and(is_digit)) && bytes.get(at + 1).is_some_and(is_digit)
    };
    let mut separators = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').map(|(at, _)| at);
    separators.all(stands_well).then(|| text.replace('_', ""))
}

/// Parses a hexadecimal number with its required exponent: `0x1.8p3`.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = unsigned.get(2..)?.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let digit = |byte: u8| f64::from(char::from(byte).to_digit(16).unwrap_or_default());
    let value = digits.bytes().fold(0.0, |sum, byte| f64::mul_add(sum, 16.0, digit(byte)));
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let exponent = exponent.parse::<i32>().ok()?.checked_sub(shift)?;
    let value = value * 2f64.powi(exponent);
    Some(if is_negative { -value } else { value })
}

/// Splits at commas without trimming; white space alone is an empty list.
pub fn parse_list(text: &str) -> Vec<String> {
    if text.trim().is_empty() { Vec::new() } else { text.split(',').map(str::to_owned).collect() }
}

/// Parses comma-separated `name:value` pairs, one `:` each; white space alone is an empty map.
pub fn parse_map(text: &str) -> Option<BTreeMap<String, String>> {
    if text.trim().is_empty() {
        return Some(BTreeMap::new());
    }
    text.split(',')
        .map(|pair| match pair.split_once(':') {
            Some((name, value)) if !value.contains(':') => Some((name.to_owned(), value.to_owned())),
            _ => None,
        })
        .collect()
}

/// Parses a plain number (per hour) or `number/duration` (a burst, and one more after each duration).
///
/// A duration of zero or below means an hour.
pub fn parse_quota(text: &str) -> Option<Quota> {
    if let Some(events) = parse_number(text) {
        return Some(Quota::Window { events, per: HOUR });
    }
    let (size, every) = text.split_once('/')?;
    if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let in_range = size.parse::<u64>().is_ok_and(|size| size < 1 << 52);
    in_range.then_some(())?;
    let every = GoDuration::parse(every)?;
    let every = if every.is_positive() { every.to_std() } else { HOUR };
    Some(Quota::Bucket { size: size.parse().ok()?, every })
}

/// Converts the time limit of outgoing calls.
///
/// Zero means ten seconds; a negative one, none in the reference, the longest call.
pub fn call_time_limit(limit: GoDuration) -> Duration {
    match limit.nanoseconds() {
        0 => Duration::from_secs(10),
        1.. => limit.to_std(),
        ..0 => LONGEST_CALL,
    }
}

/// Splits sets of characters at colons.
///
/// `\:` is a colon of the set (a second one in the same set is ignored).
pub fn parse_character_sets(text: &str) -> Vec<String> {
    let mut sets = Vec::new();
    let mut parts = text.split(':');
    while let Some(part) = parts.next() {
        match part.strip_suffix('\\') {
            Some(head) => match parts.next() {
                Some(next) => sets.push(format!("{head}:{next}")),
                None => sets.push(part.to_owned()),
            },
            None => sets.push(part.to_owned()),
        }
    }
    sets.retain(|set| !set.is_empty());
    sets
}

/// Parses comma-separated `provider=domain` pairs, trimming each part.
///
/// The error quotes the invalid pair.
pub fn parse_linking_domains(text: &str) -> Result<BTreeMap<String, String>, String> {
    if text.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    text.split(',')
        .map(|pair| match pair.split_once('=').map(|(provider, domain)| (provider.trim(), domain.trim())) {
            Some((provider, domain)) if !provider.is_empty() && !domain.is_empty() => {
                Ok((provider.to_owned(), domain.to_owned()))
            }
            _ => Err(pair.to_owned()),
        })
        .collect()
}

/// Whether the text is an absolute URL or an absolute path, as far as the reference checks it.
pub fn is_absolute(text: &str) -> bool {
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split(['/', '?']).next());
    let has_fragment_for_host = !text.starts_with('/') && authority.is_some_and(|authority| authority.contains('#'));
    !has_fragment_for_host && Url::parse(text).is_ok_and(|url| text.starts_with('/') || !url.scheme().is_empty())
}
