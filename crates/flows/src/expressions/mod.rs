//! Placeholders in requests: `{{name.member}}`, and calls of sources: `{"@name": arguments}`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::FlowError;
use crate::text::encode;

/// The longest text that placeholders are filled into.
const MAX_TEXT: usize = 8 << 20;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    /// Text as it stands.
    Text(Cow<'a, str>),
    Placeholder {
        /// The path of the value, such as `mail1.link`.
        path: &'a str,
        /// Whether the value is put into a path without encoding.
        is_raw: bool,
    },
}

/// Splits a text into its parts; `{{{{` is the text `{{`.
///
/// # Errors
/// A placeholder has no end, or no name.
pub fn parse_text(text: &str) -> Result<Vec<Part<'_>>, FlowError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        if at > 0 {
            parts.push(Part::Text(Cow::Borrowed(&rest[..at])));
        }
        rest = &rest[at + 2..];
        if let Some(behind) = rest.strip_prefix("{{") {
            parts.push(Part::Text(Cow::Borrowed("{{")));
            rest = behind;
            continue;
        }
        let end = rest.find("}}").ok_or_else(|| invalid(text, "has no }}"))?;
        let (path, filter) =
            rest[..end].split_once('|').map_or((rest[..end].trim(), ""), |(path, filter)| (path.trim(), filter.trim()));
        if path.is_empty() || !matches!(filter, "" | "raw") {
            return Err(invalid(text, "has no name, or a filter other than raw"));
        }
        parts.push(Part::Placeholder { path, is_raw: filter == "raw" });
        rest = &rest[end + 2..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(Cow::Borrowed(rest)));
    }
    Ok(parts)
}

fn invalid(text: &str, problem: &str) -> FlowError {
    FlowError::new(format!("a placeholder of {text:?} {problem}"), "write {{name}}, {{name.member}} or {{name|raw}}")
}

/// Finds the value of a path, such as `made.totp.secret`.
pub fn find_path<'a>(variables: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut segments = path.split('.');
    let mut value = variables.get(segments.next()?)?;
    for segment in segments {
        value = match value {
            Value::Object(members) => members.get(segment)?,
            Value::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// Fills the placeholders of a text. A text that is one placeholder becomes its value.
///
/// # Errors
/// A value is missing; the error names it.
pub fn fill_text(text: &str, variables: &Map<String, Value>) -> Result<Value, FlowError> {
    if !text.contains("{{") {
        return Ok(text.into());
    }
    let parts = parse_text(text)?;
    if let [Part::Placeholder { path, .. }] = parts.as_slice() {
        return find_path(variables, path).cloned().ok_or_else(|| missing(path, variables));
    }
    let mut filled = String::new();
    for part in parts {
        match part {
            Part::Text(text) => filled.push_str(&text),
            Part::Placeholder { path, .. } => {
                filled.push_str(&as_text(find_path(variables, path).ok_or_else(|| missing(path, variables))?));
            }
        }
        check_length(&filled)?;
    }
    Ok(filled.into())
}

/// Fills the placeholders of a path; values in the query are percent-encoded unless they are `raw`.
///
/// # Errors
/// A value is missing; the error names it.
pub fn fill_path(path: &str, variables: &Map<String, Value>) -> Result<String, FlowError> {
    let mut filled = String::new();
    for part in parse_text(path)? {
        match part {
            Part::Text(text) => filled.push_str(&text),
            Part::Placeholder { path, is_raw } => {
                let value = as_text(find_path(variables, path).ok_or_else(|| missing(path, variables))?);
                let is_in_query = filled.contains('?') && filled.contains('=');
                if is_in_query && !is_raw { filled.push_str(&encode(&value)) } else { filled.push_str(&value) }
            }
        }
        check_length(&filled)?;
    }
    Ok(filled)
}

fn check_length(text: &str) -> Result<(), FlowError> {
    if text.len() > MAX_TEXT {
        return Err(FlowError::new(
            format!("a text has more than {MAX_TEXT} bytes"),
            "shorten the values of its placeholders",
        ));
    }
    Ok(())
}

/// Returns a value as text: without quotes, other values as JSON.
pub fn as_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed(""),
        other => Cow::Owned(other.to_string()),
    }
}

fn missing(path: &str, variables: &Map<String, Value>) -> FlowError {
    let name = path.split('.').next().unwrap_or_default();
    match variables.get(name) {
        None => FlowError::new(
            format!("there is no value {{{{{path}}}}}"),
            format!("capture {name} in an earlier step, set it, or give it with --set {name}=VALUE"),
        ),
        Some(_) => FlowError::new(
            format!("{name} has no member for {{{{{path}}}}}"),
            "the response or source that it comes from did not have it",
        ),
    }
}

/// The call of a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<'a> {
    /// The name of the source.
    pub name: &'a str,
    pub arguments: &'a Value,
}

impl<'a> Call<'a> {
    /// Returns the call that a value is: an object with one member, whose name begins with one `@`.
    pub fn of(value: &'a Value) -> Option<Self> {
        let members = value.as_object().filter(|members| members.len() == 1)?;
        let (name, arguments) = members.iter().next()?;
        let name = name.strip_prefix('@').filter(|name| !name.starts_with('@'))?;
        Some(Self { name, arguments })
    }
}
