//! Differences between a recorded and a new response, both with symbols.

use serde_json::Value;

use crate::format::{HeaderComparison, format_inline};

/// The text after these words comes from a parser of JSON or numbers and is not compared.
const PARSER_WORDS: [&str; 3] =
    ["Could not parse request body as JSON: ", "Could not read verification params: ", "Bad Pagination Parameters: "];
/// The same, with one word after it.
const TOKEN_WORDS: &str =
    "invalid JWT: unable to parse or verify signature, token is malformed: could not JSON decode ";
/// Equals every value.
const ANY: &str = "<any>";
/// The longest value of a report.
const MAX_SHOWN: usize = 160;

/// A member that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where, such as `json.user.email`.
    pub path: String,
    /// The recorded value; `None` if there was none.
    pub expected: Option<Value>,
    /// The new value; `None` if there is none.
    pub actual: Option<Value>,
}

/// How much of a response is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Which headers.
    pub headers: HeaderComparison,
    /// Whether members are allowed that the recording does not have.
    pub is_subset: bool,
}

impl Difference {
    /// Formats the difference as lines with `-` and `+`.
    pub fn to_lines(&self) -> String {
        let path = if self.path.is_empty() { "the value" } else { &self.path };
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "(absent)".to_owned(), shorten);
        format!("{path}\n  - {}\n  + {}", shown(&self.expected), shown(&self.actual))
    }
}

fn shorten(value: &Value) -> String {
    let text = format_inline(value);
    if text.chars().count() <= MAX_SHOWN { text } else { text.chars().take(MAX_SHOWN - 1).chain(['…']).collect() }
}

/// Returns the differences of two responses: `status`, `headers`, and `json` or `text`.
pub fn compare_responses(expected: &Value, actual: &Value, comparison: Comparison) -> Vec<Difference> {
    let mut actual = actual.clone();
    if comparison.headers == HeaderComparison::Relevant || comparison.is_subset {
        let named = expected["headers"].as_object().cloned().unwrap_or_default();
        if let Some(headers) = actual["headers"].as_object_mut() {
            headers.retain(|name, _| named.contains_key(name));
        }
        if expected.get("headers").is_none()
            && let Some(members) = actual.as_object_mut()
        {
            members.shift_remove("headers");
        }
    }
    compare_values(expected, &actual, comparison.is_subset)
}

/// Returns the differences of two values.
pub fn compare_values(expected: &Value, actual: &Value, is_subset: bool) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&mut found, (expected, actual), "", is_subset);
    found
}

fn walk(found: &mut Vec<Difference>, (expected, actual): (&Value, &Value), path: &str, is_subset: bool) {
    match (expected, actual) {
        (Value::String(any), _) if any == ANY => {}
        (Value::Object(left), Value::Object(right)) => {
            let is_token = path.rsplit('.').next() == Some("jwt") && !left.contains_key("header");
            let mut names: Vec<&String> =
                left.keys().chain(right.keys().filter(|name| !left.contains_key(*name))).collect();
            names.sort();
            for name in names {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match (left.get(name), right.get(name)) {
                    (Some(left), Some(right)) => walk(found, (left, right), &below, is_subset),
                    (None, _) if is_subset || (is_token && name == "header") => {}
                    (left, right) => {
                        found.push(Difference { path: below, expected: left.cloned(), actual: right.cloned() });
                    }
                }
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                let length = |items: &[Value]| Some(Value::from(items.len()));
                found.push(Difference {
                    path: format!("{path}.length"),
                    expected: length(left),
                    actual: length(right),
                });
            }
            for (at, pair) in left.iter().zip(right).enumerate() {
                walk(found, pair, &format!("{path}[{at}]"), is_subset);
            }
        }
        (Value::String(left), Value::String(right)) if comparable(left) == comparable(right) => {}
        // Numbers are equal within their type, as `1` and `1.0` differ on the wire.
        (left, right) if left == right => {}
        (left, right) => {
            found.push(Difference { path: path.to_owned(), expected: Some(left.clone()), actual: Some(right.clone()) });
        }
    }
}

/// Returns the text without the words of parsers.
fn comparable(text: &str) -> &str {
    if let Some(known) = PARSER_WORDS.iter().find(|known| text.len() > known.len() && text.starts_with(**known)) {
        return known;
    }
    let word = text.strip_prefix(TOKEN_WORDS).and_then(|rest| rest.find(": "));
    match word {
        Some(length) if text.len() > TOKEN_WORDS.len() + length + 2 => &text[..TOKEN_WORDS.len() + length + 2],
        _ => text,
    }
}

/// Returns the recording with the new values where the two differ.
pub fn update(expected: &Value, actual: &Value, is_subset: bool) -> Value {
    update_redacted(expected, (actual, actual), is_subset)
}

/// Returns the recording with the redacted form of the new values where the two differ.
pub(crate) fn update_redacted(expected: &Value, (actual, redacted): (&Value, &Value), is_subset: bool) -> Value {
    if compare_values(expected, actual, is_subset).is_empty() {
        return expected.clone();
    }
    match (expected, actual, redacted) {
        (Value::Object(left), Value::Object(right), Value::Object(redacted)) => {
            let any = Value::from(ANY);
            let kept = left.iter().filter_map(|(name, old)| {
                let pair = (right.get(name)?, redacted.get(name).unwrap_or(&any));
                Some((name.clone(), update_redacted(old, pair, is_subset)))
            });
            let is_added = |name: &String| !is_subset && !left.contains_key(name) && right.contains_key(name);
            let added = redacted.iter().filter(|(name, _)| is_added(name));
            Value::Object(kept.chain(added.map(|(name, new)| (name.clone(), new.clone()))).collect())
        }
        (Value::Array(left), Value::Array(right), Value::Array(redacted))
            if left.len() == right.len() && left.len() == redacted.len() =>
        {
            let pairs = right.iter().zip(redacted);
            left.iter().zip(pairs).map(|(old, pair)| update_redacted(old, pair, is_subset)).collect()
        }
        _ => redacted.clone(),
    }
}
