//! Parsing of values.

use std::collections::BTreeMap;
use std::time::Duration;

use foundation::limits::Quota;
use gotrue_rs::config::values;
use proptest::prelude::*;

use super::complaints;

fn owned(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

#[test]
fn booleans_accept_the_words_of_go() {
    for text in ["1", "t", "T", "true", "TRUE", "True"] {
        assert_eq!(values::parse_boolean(text), Some(true), "{text}");
    }
    for text in ["0", "f", "F", "false", "FALSE", "False"] {
        assert_eq!(values::parse_boolean(text), Some(false), "{text}");
    }
    for text in ["", "yes", "on", "tRUE", " true", "true ", "2", "-1"] {
        assert_eq!(values::parse_boolean(text), None, "{text}");
    }
}

#[test]
fn integers_accept_base_prefixes() {
    let cases = [
        ("0", Some(0)),
        ("42", Some(42)),
        ("+42", Some(42)),
        ("-42", Some(-42)),
        ("0x1F", Some(31)),
        ("0X1f", Some(31)),
        ("-0x10", Some(-16)),
        ("017", Some(15)),
        ("0o17", Some(15)),
        ("0b101", Some(5)),
        ("1_000", Some(1000)),
        ("0x_ff", Some(255)),
        ("0_7", Some(7)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("", None),
        ("-", None),
        ("--1", None),
        ("+-1", None),
        ("08", None),
        ("1.0", None),
        ("1e3", None),
        (" 1", None),
        ("1 ", None),
        ("0x", None),
        ("1__0", None),
        ("_1", None),
        ("1_", None),
        ("ten", None),
    ];
    for (text, expected) in cases {
        assert_eq!(values::parse_integer(text), expected, "{text}");
    }
    assert_eq!(values::parse_natural("18446744073709551615"), Some(u64::MAX));
    assert_eq!(values::parse_natural("-1"), None);
    assert_eq!(values::parse_natural("+1"), None);
}

#[test]
fn floats_accept_fractions() {
    let cases = [
        ("30", Some(30.0)),
        ("0.5", Some(0.5)),
        (".5", Some(0.5)),
        ("5.", Some(5.0)),
        ("1e3", Some(1000.0)),
        ("-2.5", Some(-2.5)),
        ("1e999", None),
        ("", None),
        ("30/1h", None),
        ("1_000", Some(1000.0)),
        ("1_0.5", Some(10.5)),
        ("+1e1_0", Some(1e10)),
        ("0x1p4", Some(16.0)),
        ("0x_1.8P-1", Some(0.75)),
        ("0x10", None),
        ("1__0", None),
        ("_1", None),
        ("1_", None),
        ("1._5", None),
        ("1_e3", None),
        ("+nan", None),
        (" 1", None),
    ];
    for (text, expected) in cases {
        assert_eq!(values::parse_number(text), expected, "{text}");
    }
    assert_eq!(values::parse_number("Inf"), Some(f64::INFINITY));
}

#[test]
fn lists_keep_their_parts_unchanged() {
    assert_eq!(values::parse_list(""), owned(&[]));
    assert_eq!(values::parse_list("  "), owned(&[]));
    assert_eq!(values::parse_list("a"), owned(&["a"]));
    assert_eq!(values::parse_list("a, b,,c "), owned(&["a", " b", "", "c "]));
    assert_eq!(values::parse_list(","), owned(&["", ""]));
}

#[test]
fn map_entries_require_exactly_one_colon() {
    let map = |pairs: &[(&str, &str)]| {
        Some(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>())
    };
    assert_eq!(values::parse_map(""), map(&[]));
    assert_eq!(values::parse_map("a:1,b:2"), map(&[("a", "1"), ("b", "2")]));
    assert_eq!(values::parse_map("a:1,a:2"), map(&[("a", "2")]));
    assert_eq!(values::parse_map("a:, b :c"), map(&[("a", ""), (" b ", "c")]));
    for text in ["a", "a:1,", "a:1:2", "a:1,b"] {
        assert_eq!(values::parse_map(text), None, "{text}");
    }
}

#[test]
fn rate_limits_are_a_window_or_a_bucket() {
    let hour = Duration::from_hours(1);
    let cases = [
        ("30", Some(Quota::Window { events: 30.0, per: hour })),
        ("0", Some(Quota::Window { events: 0.0, per: hour })),
        ("0.5", Some(Quota::Window { events: 0.5, per: hour })),
        ("10/1m", Some(Quota::Bucket { size: 10.0, every: Duration::from_mins(1) })),
        ("10/0s", Some(Quota::Bucket { size: 10.0, every: hour })),
        ("10/-1m", Some(Quota::Bucket { size: 10.0, every: hour })),
        ("4503599627370495/1s", Some(Quota::Bucket { size: 4_503_599_627_370_495.0, every: Duration::from_secs(1) })),
        ("4503599627370496/1s", None),
        ("10/", None),
        ("/1h", None),
        ("-1/1h", None),
        ("1.5/1h", None),
        ("10/60", None),
        ("10/1h/1h", None),
        ("", None),
        ("many", None),
    ];
    for (text, expected) in cases {
        assert_eq!(values::parse_quota(text), expected, "{text}");
    }
}

#[test]
fn character_sets_are_separated_by_colons() {
    assert_eq!(values::parse_character_sets(""), owned(&[]));
    assert_eq!(values::parse_character_sets("abc:123"), owned(&["abc", "123"]));
    assert_eq!(values::parse_character_sets("::a::"), owned(&["a"]));
    assert_eq!(values::parse_character_sets(r"abc:!@\:#:1"), owned(&["abc", "!@:#", "1"]));
    assert_eq!(values::parse_character_sets(r"\:"), owned(&[":"]));
    assert_eq!(values::parse_character_sets(r"'\\:x"), owned(&[r"'\:x"]));
    assert_eq!(values::parse_character_sets(r"a\:b\:c"), owned(&[r"a:b\", "c"]));
    assert_eq!(values::parse_character_sets(r"a\"), owned(&[r"a\"]));
}

#[test]
fn linking_domains_are_trimmed_pairs() {
    let domains = values::parse_linking_domains(" custom:github = social ,google=home").unwrap();
    assert_eq!(domains["custom:github"], "social");
    assert_eq!(domains["google"], "home");
    assert_eq!(values::parse_linking_domains(" ").unwrap().len(), 0);
    for (text, pair) in [("a", "a"), ("a=b,c=", "c="), ("=b", "=b"), ("a=b,", "")] {
        assert_eq!(values::parse_linking_domains(text), Err(pair.to_owned()));
    }
}

#[test]
fn urls_must_be_absolute() {
    for text in [
        "https://x.example/auth/v1",
        "http://localhost:9999",
        "http://[::1]:9999/",
        "/auth/v1",
        "/",
        "localhost:9999",
        "myapp://",
        "https://user:pass@x.example",
    ] {
        assert!(values::is_absolute(text), "{text}");
    }
    for text in ["", "x.example", "auth/v1", "://x", "1http://x", "http://x:port", "http://a b/", "ht tp://x", "/a\n"] {
        assert!(!values::is_absolute(text), "{text}");
    }
}

proptest! {
    #[test]
    fn joined_lists_round_trip(parts in proptest::collection::vec("[^,\\s]{1,8}", 0..6)) {
        prop_assert_eq!(values::parse_list(&parts.join(",")), parts);
    }

    #[test]
    fn joined_maps_round_trip(map in proptest::collection::btree_map("[^,:\\s]{1,8}", "[^,:\\s]{0,8}", 0..6)) {
        let text = map.iter().map(|(k, v)| format!("{k}:{v}")).collect::<Vec<_>>().join(",");
        prop_assert_eq!(values::parse_map(&text), Some(map));
    }

    #[test]
    fn character_sets_with_escaped_colons_round_trip(sets in proptest::collection::vec("[^:\\\\]{1,4}(:[^:\\\\]{1,4})?", 0..6)) {
        let text = sets.iter().map(|set| set.replace(':', "\\:")).collect::<Vec<_>>().join(":");
        prop_assert_eq!(values::parse_character_sets(&text), sets);
    }

    #[test]
    fn integers_round_trip_in_every_base(n in any::<i32>()) {
        let (sign, size) = (if n < 0 { "-" } else { "" }, n.unsigned_abs());
        for text in [format!("{n}"), format!("{sign}0x{size:x}"), format!("{sign}0b{size:b}"), format!("{sign}0{size:o}")] {
            prop_assert_eq!(values::parse_integer(&text), Some(i64::from(n)), "{}", text);
        }
    }

    #[test]
    fn arbitrary_values_never_panic(text in "\\PC*") {
        let _ = (values::parse_boolean(&text), values::parse_integer(&text), values::parse_natural(&text), values::parse_number(&text));
        let _ = (values::parse_list(&text), values::parse_map(&text), values::parse_quota(&text), values::parse_character_sets(&text));
        let _ = (values::parse_linking_domains(&text), values::is_absolute(&text));
    }
}

#[test]
fn durations_and_strings_are_parsed_like_go() {
    let refused =
        |name: &str, text: &str| complaints(&[(name, text), ("GOTRUE_MFA_PHONE_ENROLL_ENABLED", "true")]).len();
    for text in [
        "2030-01-31t12:00:00z",
        "2030-01-31 12:00:00Z",
        "2030-01-31T12:00:60Z",
        "2030-01-31T12:00:00+0100",
        "2030-1-31T12:00:00Z",
        "12030-01-31T12:00:00Z",
    ] {
        assert_eq!(refused("GOTRUE_SMS_TEST_OTP_VALID_UNTIL", text), 1, "{text}");
    }
    for text in ["2030-01-31T1:00:00Z", "2030-01-31T12:00:00,5Z", " 2030-01-31T12:00:00.123456789+01:00 ", ""] {
        assert_eq!(refused("GOTRUE_SMS_TEST_OTP_VALID_UNTIL", text), 0, "{text}");
    }
    for text in [
        "{{ nope }}",
        "{{ .Code | nope }}",
        "{{ $x }}",
        "{{ end }}",
        "{{ if .Code }}",
        "{{ if .Other }}{{ nope }}{{ end }}",
        "{{ define \"a\" }}{{ nope }}{{ end }}{{ .Code }}",
        "{{ break }}",
    ] {
        assert_eq!(refused("GOTRUE_MFA_PHONE_TEMPLATE", text), 1, "{text}");
        assert_eq!(complaints(&[("GOTRUE_SMS_TEMPLATE", text), ("GOTRUE_SMS_PROVIDER", "twilio")]).len(), 1, "{text}");
    }
    for text in ["{{ .Other }}", "{{ $x := 1 }}{{ $x }} {{ .Code }}", "{{ template \"x\" }}", "{{ printf }}", "}}"] {
        assert_eq!(refused("GOTRUE_MFA_PHONE_TEMPLATE", text), 0, "{text}");
    }
}
