//! Durations as Go writes them: `1h30m`, `1.5h`, `500ms`, `-5s`. A bare number has no unit and is none, except `0`.

use std::time::Duration;

/// A span of time in whole nanoseconds, at most 292 years either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(i64);

/// Why a text is no duration, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("time: {what} {}", quoted(text))]
pub struct BadDuration {
    what: String,
    text: String,
}

/// What is wrong with one component.
enum Complaint<'t> {
    Invalid,
    MissingUnit,
    UnknownUnit(&'t str),
}

impl GoDuration {
    /// Reads the text; absent when it is not of the form, or too long a time.
    pub fn parse(text: &str) -> Option<Self> {
        total(text).ok()
    }

    /// Reads the text, or says what is wrong with it as the reference quotes it.
    pub fn parse_or_say(text: &str) -> Result<Self, BadDuration> {
        total(text).map_err(|complaint| {
            let what = match complaint {
                Complaint::Invalid => "invalid duration".to_owned(),
                Complaint::MissingUnit => "missing unit in duration".to_owned(),
                Complaint::UnknownUnit(unit) => format!("unknown unit {} in duration", quoted(unit)),
            };
            BadDuration { what, text: text.to_owned() }
        })
    }

    /// The span in nanoseconds.
    pub fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Whether it is no time at all.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether it lies ahead.
    pub fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// The same as an unsigned span; a negative one becomes none at all.
    pub fn as_std(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

fn total(text: &str) -> Result<GoDuration, Complaint<'_>> {
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
        let (nanoseconds, after) = component(rest)?;
        total += nanoseconds;
        if total > limit {
            return Err(Complaint::Invalid);
        }
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    let total = i128::try_from(total).map_err(|_| Complaint::Invalid)?;
    i64::try_from(if negative { -total } else { total }).map(GoDuration).map_err(|_| Complaint::Invalid)
}

/// One number with its unit, in nanoseconds, and what follows it.
fn component(text: &str) -> Result<(u128, &str), Complaint<'_>> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => digits(after),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(Complaint::Invalid);
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().map_err(|_| Complaint::Invalid)? };
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    if name.is_empty() {
        return Err(Complaint::MissingUnit);
    }
    let unit = unit(name).ok_or(Complaint::UnknownUnit(name))?;
    let nanoseconds = u128::from(whole) * unit + share(fraction, unit);
    if nanoseconds > 1 << 63 {
        return Err(Complaint::Invalid);
    }
    Ok((nanoseconds, after))
}

/// A text in quotation marks as Go's `time` writes it: bytes that are no printable ASCII as `\xNN`.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' | 0x7f => quoted.push(char::from(byte)),
            _ => quoted.extend(format!("\\x{byte:02x}").chars()),
        }
    }
    quoted.push('"');
    quoted
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn unit(name: &str) -> Option<u128> {
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

/// That decimal fraction of a unit, without the part below a nanosecond. Digits past the 18th weigh nothing.
fn share(fraction: &str, unit: u128) -> u128 {
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
    fn durations_are_read_as_go_reads_them() {
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
    fn anything_else_is_refused() {
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
    fn a_refusal_says_what_go_says() {
        for (text, said) in [
            ("", r#"time: invalid duration """#),
            ("5", r#"time: missing unit in duration "5""#),
            ("1h3", r#"time: missing unit in duration "1h3""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("1h 30m", r#"time: unknown unit "h " in duration "1h 30m""#),
            ("h", r#"time: invalid duration "h""#),
            ("99999999999999999999", r#"time: invalid duration "99999999999999999999""#),
            ("1\"\\é\n", r#"time: unknown unit "\"\\\xc3\xa9\x0a" in duration "1\"\\\xc3\xa9\x0a""#),
        ] {
            assert_eq!(GoDuration::parse_or_say(text).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_negative_span_is_no_time_at_all_where_time_only_runs_forward() {
        assert_eq!(GoDuration::parse("-5s").map(GoDuration::as_std), Some(Duration::ZERO));
        assert_eq!(GoDuration::parse("5s").map(GoDuration::as_std), Some(Duration::from_secs(5)));
    }

    proptest! {
        #[test]
        fn whole_components_add_up(h in 0_i64..1000, m in 0_i64..1000, s in 0_i64..1000, ns in 0_i64..1_000_000_000) {
            let expected = ((h * 60 + m) * 60 + s) * 1_000_000_000 + ns;
            prop_assert_eq!(nanoseconds(&format!("{h}h{m}m{s}s{ns}ns")), Some(expected));
            prop_assert_eq!(nanoseconds(&format!("-{h}h{m}m{s}s{ns}ns")), Some(-expected));
            prop_assert_eq!(nanoseconds(&format!("{}.{ns:09}s", (h * 60 + m) * 60 + s)), Some(expected));
        }

        #[test]
        fn no_text_is_too_odd_to_be_read(text in "\\PC*") {
            let _ = GoDuration::parse(&text);
        }

        #[test]
        fn near_misses_are_either_refused_or_read(text in "[-+]?[0-9.]{0,22}(ns|us|µs|ms|s|m|h)?[0-9.]{0,3}[smh]?") {
            if let Some(read) = GoDuration::parse(&text) {
                prop_assert_eq!(read.nanoseconds() < 0, text.starts_with('-') && !read.is_zero());
            }
        }
    }
}
