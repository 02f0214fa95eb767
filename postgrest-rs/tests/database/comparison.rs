//! JSON whose numbers keep their spelling, and the comparison of an answer with its recording.

use regex::Regex;
use serde_json::Value;

/// Marks a text as the spelling of a number.
const NUMBER: char = '\u{E000}';

/// Parses JSON. Numbers with a fraction or an exponent become texts that begin with a mark.
pub(crate) fn parse(text: &str) -> Option<Value> {
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
pub(crate) fn print(value: &Value) -> String {
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
pub(crate) fn is_same(recorded: &Value, answered: &Value, unordered: &[&str], name: &str) -> bool {
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

fn is_same_text(recorded: &str, answered: &str) -> bool {
    if !recorded.contains("<uuid>") && !recorded.contains("<time>") {
        return recorded == answered;
    }
    let uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    let time = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?([+-]\d\d(:?\d\d)?)?";
    let pattern = regex::escape(recorded).replace("<uuid>", uuid).replace("<time>", time);
    Regex::new(&format!("^(?:{pattern})$")).unwrap().is_match(answered)
}

#[test]
fn numbers_keep_their_spelling() {
    let parsed = parse(r#"{"a": [1, 1.0, -2e5], "b": "1.0 \" 2.5"}"#).unwrap();
    assert_eq!(print(&parsed), r#"{"a": [1, 1.0, -2e5], "b": "1.0 \" 2.5"}"#);
    assert!(!is_same(&parse("1.0").unwrap(), &parse("1.00").unwrap(), &[], ""));
    assert!(!is_same(&parse("1.0").unwrap(), &parse("\"1.0\"").unwrap(), &[], ""));
}
