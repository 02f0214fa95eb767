//! The claims of a token: as values for the checks, and as the text that the database gets.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A number with a larger exponent is written with the exponent instead of its zeros.
const MAXIMUM_ZEROS: i64 = 1024;

/// The claims of a token.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims {
    /// The claims for checks. A number is the double that is nearest to it.
    pub values: Map<String, Value>,
    /// The JSON of each claim for the database: keys are sorted, numbers have all their digits.
    texts: BTreeMap<String, String>,
}

impl Claims {
    /// Parses the payload of a token.
    ///
    /// # Errors
    /// The payload is no JSON object, or is nested more than 127 levels deep.
    pub(super) fn parse(payload: &[u8]) -> serde_json::Result<Self> {
        let values = serde_json::from_slice(payload)?;
        let members: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(payload)?;
        let texts = members.into_iter().map(|(name, value)| Ok((name, format_value(&value)?)));
        Ok(Self { values, texts: texts.collect::<serde_json::Result<_>>()? })
    }

    /// The claims as JSON, with the role that the request runs as.
    pub(super) fn format(&self, role: &str) -> String {
        let role = Value::from(role).to_string();
        let mut texts: BTreeMap<&str, &str> =
            self.texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        texts.insert("role", &role);
        format_object(texts.into_iter())
    }
}

fn format_object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let members: Vec<String> = members.map(|(name, text)| format!("{}:{text}", Value::from(name))).collect();
    format!("{{{}}}", members.join(","))
}

fn format_value(value: &RawValue) -> serde_json::Result<String> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)?;
            let members = members.into_iter().map(|(name, value)| Ok((name, format_value(&value)?)));
            let members: Vec<(String, String)> = members.collect::<serde_json::Result<_>>()?;
            Ok(format_object(members.iter().map(|(name, text)| (name.as_str(), text.as_str()))))
        }
        Some(b'[') => {
            let elements: Vec<Box<RawValue>> = serde_json::from_str(text)?;
            let elements: Vec<String> =
                elements.iter().map(|element| format_value(element)).collect::<Result<_, _>>()?;
            Ok(format!("[{}]", elements.join(",")))
        }
        Some(b'-' | b'0'..=b'9') => Ok(format_number(text)),
        _ => Ok(serde_json::from_str::<Value>(text)?.to_string()),
    }
}

/// Writes a JSON number as `PostgREST` does, without loss: whole numbers with all digits, others with a fraction, or with an
/// exponent below 0.1 and from ten millions on.
fn format_number(text: &str) -> String {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // An exponent beyond 64 bits is none of a number that anybody means.
    let Ok(exponent) = exponent.parse::<i64>() else { return text.to_owned() };
    let exponent = exponent.saturating_sub(fraction.len().try_into().unwrap_or(i64::MAX));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return if exponent < 0 { "0.0".to_owned() } else { "0".to_owned() };
    }
    if (0..=MAXIMUM_ZEROS).contains(&exponent) {
        let zeros = "0".repeat(exponent.unsigned_abs().try_into().unwrap_or_default());
        return format!("{sign}{digits}{zeros}");
    }
    let point = exponent.saturating_add(digits.len().try_into().unwrap_or(i64::MAX));
    let digits = digits.trim_end_matches('0');
    let or_zero = |digits: &str| if digits.is_empty() { "0".to_owned() } else { digits.to_owned() };
    match usize::try_from(point) {
        Ok(point @ 0..=7) => {
            let whole = format!("{:0<point$}", &digits[..point.min(digits.len())]);
            let fraction = digits.get(point..).unwrap_or_default();
            format!("{sign}{}.{}", or_zero(&whole), or_zero(fraction))
        }
        _ => format!("{sign}{}.{}e{}", &digits[..1], or_zero(&digits[1..]), point.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_keep_all_digits() {
        for (given, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.00", "0.0"),
            ("42", "42"),
            ("1e3", "1000"),
            ("-12.50e1", "-125.0"),
            ("1.50", "1.5"),
            ("1.0", "1.0"),
            ("0.1", "0.1"),
            ("0.01", "1.0e-2"),
            ("-0.0125", "-1.25e-2"),
            ("1234567.5", "1234567.5"),
            ("12345678.5", "1.23456785e7"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("0.123456789012345678901234567890", "0.12345678901234567890123456789"),
            ("1e2000", "1.0e2000"),
            ("1E-2", "1.0e-2"),
        ] {
            assert_eq!(format_number(given), expected, "{given}");
        }
    }

    #[test]
    fn keys_are_sorted_at_every_level() {
        let claims = Claims::parse(br#"{"b": {"d": [1e1, {"z": null, "y": "\u00e4"}], "c": true}, "a": 2, "b\"": 1}"#);
        let expected = r#"{"a":2,"b":{"c":true,"d":[10,{"y":"ä","z":null}]},"b\"":1,"role":"web"}"#;
        assert_eq!(claims.unwrap().format("web"), expected);
    }

    proptest! {
        #[test]
        fn numbers_keep_their_value(text in "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,9})?([eE][-+]?[0-9]{1,2})?") {
            let formatted = format_number(&text);
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap().as_f64().unwrap();
            prop_assert!((value(&formatted) - value(&text)).abs() == 0.0, "{} {}", text, formatted);
        }

        #[test]
        fn arbitrary_payloads_do_not_panic(payload in "[\\[\\]{}:,\"a-c0-9eE.+-]{0,60}") {
            if let Ok(claims) = Claims::parse(payload.as_bytes()) {
                prop_assert!(serde_json::from_str::<Map<String, Value>>(&claims.format("web")).is_ok());
            }
        }
    }
}
