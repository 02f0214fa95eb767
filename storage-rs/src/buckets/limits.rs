//! The size limit of a bucket, and clients that know fewer fields.

use serde_json::Value;

use crate::error::Error;
use crate::request::Call;
use crate::request::fields::{Fields, convert_integer};

const FIELD: &str = "file_size_limit";

/// The unit of a size in bytes. Units are decimal.
const UNITS: [(&str, f64); 4] = [("gb", 1e9), ("mb", 1e6), ("kb", 1e3), ("b", 1.0)];

/// What a request does with a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LimitChange<T> {
    /// It stays as it is.
    Keep,
    /// There is none any more.
    Lift,
    /// It gets another value.
    Set(T),
}

impl<T> LimitChange<T> {
    /// The new value.
    pub(super) fn value(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Lift => None,
        }
    }

    /// Whether the column gets a value or null.
    pub(super) fn is_change(&self) -> bool {
        !matches!(self, Self::Keep)
    }
}

/// The size limit in a request, in bytes.
pub(super) fn read_size(fields: &Fields) -> Result<LimitChange<i64>, Error> {
    match fields.raw(FIELD) {
        None => Ok(LimitChange::Keep),
        Some(Value::Null) => Ok(LimitChange::Lift),
        // The coercion of the reference makes null of it.
        Some(Value::String(text)) if text.is_empty() => Ok(LimitChange::Lift),
        Some(Value::String(text)) => match parse_size(text).or_else(|| convert_integer(&Value::from(text.as_str()))) {
            Some(size) if size >= 0 => Ok(LimitChange::Set(size)),
            _ => Err(refuse(false)),
        },
        Some(value) => match convert_integer(value) {
            Some(size) if size >= 0 => Ok(LimitChange::Set(size)),
            Some(_) => Err(Error::validation(
                "body/file_size_limit must be >= 0, body/file_size_limit must match pattern \
                 \"^[0-9]+(?:\\.[0-9]+)?(?:[gG][bB]|[mM][bB]|[kK][bB]|[bB])$\", body/file_size_limit must match a schema in anyOf",
            )),
            None => Err(refuse(value.is_number())),
        },
    }
}

/// The error of a value that is no size. A number with a fraction is finite.
fn refuse(is_number: bool) -> Error {
    let finite = if is_number { "" } else { "body/file_size_limit must pass \"finite\" keyword validation, " };
    Error::validation(format!(
        "body/file_size_limit must be integer, {finite}body/file_size_limit must match pattern \
         \"^[0-9]+(?:\\.[0-9]+)?(?:[gG][bB]|[mM][bB]|[kK][bB]|[bB])$\", body/file_size_limit must match a schema in anyOf"
    ))
}

/// A size with a unit, rounded to three digits: `1.5MB`.
fn parse_size(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    let (number, factor) = UNITS.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, factor)))?;
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = match number.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(number),
    };
    if !is_number {
        return None;
    }
    let rounded: f64 = format!("{:.2e}", number.parse::<f64>().ok()?).parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
    let bytes = (rounded * factor) as i64;
    Some(bytes)
}

/// Whether the client fails on the field `type` of buckets: supabase-py before 2.18.
pub(super) fn is_client_without_bucket_types(call: &Call) -> bool {
    let is_before = |header: &str, prefix: &str, newest: [u32; 3]| {
        let text = call.header(header).unwrap_or_default().to_ascii_lowercase();
        let Some((_, version)) = text.split_once(prefix) else { return false };
        let mut numbers = version.split('.').map(|part| {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            part[..digits].parse::<u32>().ok()
        });
        let version: Option<Vec<u32>> = (0..3).map(|_| numbers.next().flatten()).collect();
        version.is_some_and(|version| version.as_slice() < newest.as_slice())
    };
    is_before("x-client-info", "supabase-py/", [2, 18, 0])
        || is_before("user-agent", "supabase-py/storage3 v", [0, 12, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_units_and_three_digits() {
        let cases = [
            ("1KB", Some(1000)),
            ("1.5mb", Some(1_500_000)),
            ("1.2345MB", Some(1_230_000)),
            ("3B", Some(3)),
            ("20GB", Some(20_000_000_000)),
            ("1MiB", None),
            ("1 megabyte", None),
            (".5MB", None),
            ("5.", None),
            ("-1KB", None),
            ("KB", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }
}
