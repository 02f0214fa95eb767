//! JSON whose numbers keep their spelling, and the comparison of an answer with its recording.

use chrono::{DateTime, NaiveDateTime};
use serde_json::Value;
use uuid::Uuid;

/// Stands for any identifier.
const UUID: &str = "<uuid>";

/// Stands for any time.
const TIME: &str = "<time>";

/// Marks a text as the spelling of a number.
const NUMBER: char = '\u{E000}';

/// Parses JSON. Numbers with a fraction or an exponent become texts that begin with a mark.
pub(super) fn parse(text: &str) -> Option<Value> {
    let mut marked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' => text_length(rest),
            '-' | '0'..='9' => rest.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c)).unwrap_or(rest.len()),
            _ => character.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if character != '"'
            && token.contains(['.', 'e', 'E'])
            && token.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        {
            marked.extend(['"', NUMBER]);
            marked.push_str(token);
            marked.push('"');
        } else {
            marked.push_str(token);
        }
        rest = after;
    }
    serde_json::from_str(&marked).ok()
}

/// The length of the text literal that JSON begins with.
fn text_length(json: &str) -> usize {
    let mut is_escaped = false;
    for (index, character) in json.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    json.len()
}

/// JSON with the numbers as they were spelled.
pub(super) fn print(value: &Value) -> String {
    match value {
        Value::String(text) => match text.strip_prefix(NUMBER) {
            Some(number) => number.to_owned(),
            None => value.to_string(),
        },
        Value::Array(values) => format!("[{}]", values.iter().map(print).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), print(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Whether a value is as recorded. `<uuid>` and `<time>` in a recorded text stand for any; the lists named are in any order.
pub(super) fn is_same(recorded: &Value, answered: &Value, unordered: &[&str], name: &str) -> bool {
    match (recorded, answered) {
        (Value::String(recorded), Value::String(answered)) => is_same_text(recorded, answered),
        (Value::Object(recorded), Value::Object(answered)) => {
            recorded.len() == answered.len()
                && recorded
                    .iter()
                    .all(|(name, value)| answered.get(name).is_some_and(|other| is_same(value, other, unordered, name)))
        }
        (Value::Array(recorded), Value::Array(answered)) if recorded.len() != answered.len() => false,
        (Value::Array(recorded), Value::Array(answered)) if unordered.contains(&name) => {
            let mut left: Vec<_> = answered.iter().collect();
            recorded.iter().all(|value| {
                let found = left.iter().position(|other| is_same(value, other, unordered, "-"));
                found.map(|index| left.swap_remove(index)).is_some()
            })
        }
        (Value::Array(recorded), Value::Array(answered)) => {
            recorded.iter().zip(answered).all(|(value, other)| is_same(value, other, unordered, "-"))
        }
        _ => recorded == answered,
    }
}

/// Whether a text is as recorded: `<uuid>` stands for an identifier, `<time>` for a time.
fn is_same_text(recorded: &str, answered: &str) -> bool {
    let Some(start) = recorded.find(UUID).into_iter().chain(recorded.find(TIME)).min() else {
        return recorded == answered;
    };
    let (before, placeholder) = recorded.split_at(start);
    let Some(answered) = answered.strip_prefix(before) else { return false };
    let (name, length) = match placeholder.strip_prefix(UUID) {
        Some(_) => (UUID, Some(36).filter(|length| answered.get(..*length).is_some_and(is_uuid))),
        None => (TIME, Some(time_length(answered)).filter(|length| is_time(&answered[..*length]))),
    };
    length.is_some_and(|length| is_same_text(&placeholder[name.len()..], &answered[length..]))
}

fn is_uuid(text: &str) -> bool {
    !text.contains(char::is_uppercase) && Uuid::try_parse(text).is_ok()
}

/// The length of what can belong to a time that a text begins with.
fn time_length(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit() && !"-+:.T ".contains(c)).unwrap_or(text.len())
}

/// Whether a text is a time of PostgreSQL, with or without an offset.
fn is_time(text: &str) -> bool {
    let text = text.replacen(' ', "T", 1);
    DateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M:%S%.f%#z").is_ok()
        || NaiveDateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M:%S%.f").is_ok()
}

#[cfg(test)]
mod tests {
    use super::{is_same, parse, print};

    fn compare(recorded: &str, answered: &str, unordered: &[&str]) -> bool {
        is_same(&parse(recorded).unwrap(), &parse(answered).unwrap(), unordered, "")
    }

    #[test]
    fn numbers_keep_their_spelling() {
        let parsed = parse(r#"{"a": [1, 1.0, -2e5], "b": "1.0 \" 2.5"}"#).unwrap();
        assert_eq!(print(&parsed), r#"{"a": [1, 1.0, -2e5], "b": "1.0 \" 2.5"}"#);
        assert!(!compare("1.0", "1.00", &[]));
        assert!(!compare("1.0", "\"1.0\"", &[]));
    }

    #[test]
    fn every_other_value_is_a_difference() {
        let recorded = r#"{"status": 200, "headers": {"allow": "GET"}, "json": [{"a": 1}, {"a": 2}]}"#;
        assert!(compare(recorded, recorded, &[]));
        for (from, to) in [
            ("200", "201"),
            ("GET", "HEAD"),
            ("\"allow\"", "\"vary\""),
            ("2}", "2, \"b\": null}"),
            ("{\"a\": 1}, ", ""),
        ] {
            let answered = recorded.replacen(from, to, 1);
            assert_ne!(recorded, answered);
            assert!(!compare(recorded, &answered, &[]), "{answered}");
            assert!(!compare(&answered, recorded, &[]), "{answered}");
        }
    }

    #[test]
    fn lists_have_any_order_where_the_recording_says_so() {
        assert!(!compare(r#"{"json": [1, 2]}"#, r#"{"json": [2, 1]}"#, &[]));
        assert!(compare(r#"{"json": [1, 2]}"#, r#"{"json": [2, 1]}"#, &["json"]));
        assert!(!compare(r#"{"json": [1, 2]}"#, r#"{"json": [2, 2]}"#, &["json"]));
    }

    #[test]
    fn placeholders_stand_for_identifiers_and_times() {
        let (uuid, time) = ("\"id <uuid>.\"", "\"<time>, at last\"");
        assert!(compare(uuid, "\"id 0b8c1f5e-2f7d-4a3b-9f00-112233445566.\"", &[]));
        assert!(!compare(uuid, "\"id 0b8c1f5e-2f7d-4a3b-9f00-11223344556.\"", &[]));
        assert!(!compare(uuid, "\"id 0b8c1f5e-2f7d-4a3b-9f00-112233445566\"", &[]));
        for same in ["2024-05-06T07:08:09.123456+00:00", "2024-05-06 07:08:09+00", "2024-05-06T07:08:09"] {
            assert!(compare(time, &format!("\"{same}, at last\""), &[]), "{same}");
        }
        for other in ["2024-05-06", "today", "2024-13-06T07:08:09", ""] {
            assert!(!compare(time, &format!("\"{other}, at last\""), &[]), "{other}");
        }
    }
}
