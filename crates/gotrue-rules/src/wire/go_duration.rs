//! Go durations: `1h30m`, `1.5h`, `500ms`, `-5s`. A number without a unit is invalid, except `0`.

use std::time::Duration;

use super::go_quote::go_time_quote;

/// A duration in nanoseconds, at most 292 years in either direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(i64);

/// Why a text is not a duration, with Go's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("time: {what} {}", go_time_quote(text))]
pub struct InvalidDuration {
    what: String,
    text: String,
}

/// Why a component is invalid.
enum ComponentError<'t> {
    Invalid,
    MissingUnit,
    UnknownUnit(&'t str),
}

impl GoDuration {
    /// Parses the text; `None` if it is malformed or out of range.
    pub fn parse(text: &str) -> Option<Self> {
        parse_total(text).ok()
    }

    /// Parses the text; the error has GoTrue's wording.
    pub fn parse_with_error(text: &str) -> Result<Self, InvalidDuration> {
        parse_total(text).map_err(|complaint| {
            let what = match complaint {
                ComponentError::Invalid => "invalid duration".to_owned(),
                ComponentError::MissingUnit => "missing unit in duration".to_owned(),
                ComponentError::UnknownUnit(unit) => format!("unknown unit {} in duration", go_time_quote(unit)),
            };
            InvalidDuration { what, text: text.to_owned() }
        })
    }

    /// Returns the nanoseconds.
    pub fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Whether the duration is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether the duration is positive.
    pub fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// Converts to an unsigned duration; a negative one becomes zero.
    pub fn to_std(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

fn parse_total(text: &str) -> Result<GoDuration, ComponentError<'_>> {
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(GoDuration(0));
    }
    let limit = if negative { 1 << 63 } else { (1 << 63) - 1 };
    let mut total: u128 = 0;
    loop {
        let (nanoseconds, after) = parse_component(rest)?;
        total += nanoseconds;
        if total > limit {
            return Err(ComponentError::Invalid);
        }
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    let total = i128::try_from(total).map_err(|_| ComponentError::Invalid)?;
    i64::try_from(if negative { -total } else { total }).map(GoDuration).map_err(|_| ComponentError::Invalid)
}

/// Parses one number with its unit; returns nanoseconds and the rest.
fn parse_component(text: &str) -> Result<(u128, &str), ComponentError<'_>> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => split_digits(after),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(ComponentError::Invalid);
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().map_err(|_| ComponentError::Invalid)? };
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    if name.is_empty() {
        return Err(ComponentError::MissingUnit);
    }
    let unit = unit_nanoseconds(name).ok_or(ComponentError::UnknownUnit(name))?;
    let nanoseconds = u128::from(whole) * unit + fraction_of(fraction, unit);
    if nanoseconds > 1 << 63 {
        return Err(ComponentError::Invalid);
    }
    Ok((nanoseconds, after))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn unit_nanoseconds(name: &str) -> Option<u128> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Returns the decimal fraction of a unit in nanoseconds, truncated. Digits after the 18th are ignored.
fn fraction_of(fraction: &str, unit: u128) -> u128 {
    let (mut value, mut scale) = (0, 1);
    for digit in fraction.bytes().take(18) {
        value = value * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    value * unit / scale
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanoseconds(text: &str) -> Option<i64> {
        GoDuration::parse(text).map(GoDuration::nanoseconds)
    }

    #[test]
    fn durations_parse_as_in_go() {
        let cases = [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("+0", Some(0)),
            ("0s", Some(0)),
            ("1h30m", Some(5_400_000_000_000)),
            ("1.5h", Some(5_400_000_000_000)),
            ("1us", Some(1_000)),
            ("1µs", Some(1_000)),
            ("1μs", Some(1_000)),
            ("1ns", Some(1)),
            ("0.5ns", Some(0)),
            ("-5s", Some(-5_000_000_000)),
            ("+5s", Some(5_000_000_000)),
            (".5s", Some(500_000_000)),
            ("5.s", Some(5_000_000_000)),
            ("-.5m", Some(-30_000_000_000)),
            ("1m1m", Some(120_000_000_000)),
            ("3s500ms", Some(3_500_000_000)),
            ("2540400h10m10.000000000s", Some(9_145_440_610_000_000_000)),
            ("9223372036854775807ns", Some(i64::MAX)),
            ("-9223372036854775808ns", Some(i64::MIN)),
            ("0.100000000000000000000h", Some(360_000_000_000)),
        ];
        for (text, expected) in cases {
            assert_eq!(nanoseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn malformed_durations_are_rejected() {
        let cases = [
            "",
            "3",
            "10",
            "-",
            "+",
            "s",
            ".",
            "-.",
            ".s",
            "+.s",
            "1d",
            "1 h",
            " 1h",
            "1h ",
            "1H",
            "--1s",
            "1h-5m",
            "1.2.3s",
            "9223372036854775808ns",
            "-9223372036854775809ns",
            "2562048h",
            "99999999999999999999s",
            "1h3",
            "0x1s",
        ];
        for text in cases {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }

    #[test]
    fn errors_have_go_wording() {
        for (text, expected) in [
            ("", r#"time: invalid duration """#),
            ("5", r#"time: missing unit in duration "5""#),
            ("1h3", r#"time: missing unit in duration "1h3""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("1h 30m", r#"time: unknown unit "h " in duration "1h 30m""#),
            ("h", r#"time: invalid duration "h""#),
            ("99999999999999999999", r#"time: invalid duration "99999999999999999999""#),
            ("1\"\\é\n", r#"time: unknown unit "\"\\\xc3\xa9\x0a" in duration "1\"\\\xc3\xa9\x0a""#),
        ] {
            assert_eq!(GoDuration::parse_with_error(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn negative_duration_becomes_zero() {
        assert_eq!(GoDuration::parse("-5s").map(GoDuration::to_std), Some(Duration::ZERO));
        assert_eq!(GoDuration::parse("5s").map(GoDuration::to_std), Some(Duration::from_secs(5)));
    }

    proptest! {
        #[test]
        fn components_add_up(h in 0_i64..1000, m in 0_i64..1000, s in 0_i64..1000, ns in 0_i64..1_000_000_000) {
            let expected = ((h * 60 + m) * 60 + s) * 1_000_000_000 + ns;
            prop_assert_eq!(nanoseconds(&format!("{h}h{m}m{s}s{ns}ns")), Some(expected));
            prop_assert_eq!(nanoseconds(&format!("-{h}h{m}m{s}s{ns}ns")), Some(-expected));
            prop_assert_eq!(nanoseconds(&format!("{}.{ns:09}s", (h * 60 + m) * 60 + s)), Some(expected));
        }

        #[test]
        fn any_text_parses_without_panic(text in "\\PC*") {
            let _ = GoDuration::parse(&text);
        }

        #[test]
        fn nearly_valid_text_parses_without_panic(text in "[-+]?[0-9.]{0,22}(ns|us|µs|ms|s|m|h)?[0-9.]{0,3}[smh]?") {
            if let Some(read) = GoDuration::parse(&text) {
                prop_assert_eq!(read.nanoseconds() < 0, text.starts_with('-') && !read.is_zero());
            }
        }
    }
}
