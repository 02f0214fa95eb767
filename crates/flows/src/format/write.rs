//! Writes the file of a flow: what fits stands on one line, which is one line of a difference.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::flow::{Action, Flow, HeaderComparison, RequestBody, RequestStep, Service, SetupStatus, Step};

/// The longest object or list on one line, with its indentation.
const WIDTH: usize = 150;
/// The most bytes of a character.
const MAX_CHARACTER: usize = 4;
/// The end of every file behind its last step.
pub(crate) const FILE_END: &str = "\n ]\n}\n";

/// Formats the file of a flow.
pub(crate) fn write_flow(flow: &Flow) -> String {
    let mut text = write_head(flow);
    for (number, step) in flow.steps.iter().enumerate() {
        text.push_str(if number == 0 { "\n" } else { ",\n" });
        text.push_str(&format_step(step));
    }
    text.push_str(FILE_END);
    text
}

/// Formats everything before the first step.
pub(crate) fn write_head(flow: &Flow) -> String {
    let mut head = Map::new();
    head.insert("flow".to_owned(), flow.name.as_str().into());
    if let Some(about) = &flow.about {
        head.insert("about".to_owned(), about.as_str().into());
    }
    head.insert("profile".to_owned(), flow.profile.as_str().into());
    if !flow.settings.is_empty() {
        head.insert("settings".to_owned(), Value::Object(flow.settings.clone()));
    }
    if flow.headers == HeaderComparison::Relevant {
        head.insert("compare".to_owned(), "relevant".into());
    }
    if !flow.values.is_empty() {
        head.insert("values".to_owned(), Value::Object(flow.values.clone()));
    }
    let mut text = String::from("{\n");
    for (name, value) in &head {
        let _ = write!(text, " {}: ", Value::from(name.as_str()));
        write_value(&mut text, value, 1);
        text.push_str(",\n");
    }
    text.push_str(" \"steps\": [");
    text
}

/// Formats a step at its indentation.
pub(crate) fn format_step(step: &Step) -> String {
    let mut text = String::from("  ");
    write_value(&mut text, &Value::Object(step_members(step)), 2);
    text
}

fn step_members(step: &Step) -> Map<String, Value> {
    let mut members = Map::new();
    if let Some(label) = &step.label {
        members.insert("label".to_owned(), label.as_str().into());
    }
    match &step.action {
        Action::Request(request) => insert_request(&mut members, request),
        Action::Note { value, expect, is_subset } => {
            members.insert("note".to_owned(), value.clone());
            insert_match(&mut members, *is_subset);
            members.insert("expect".to_owned(), expect.clone());
        }
        Action::Set(names) => drop(members.insert("set".to_owned(), Value::Object(names.clone()))),
        Action::Values(names) => drop(members.insert("values".to_owned(), Value::Object(names.clone()))),
        Action::Do(calls) => {
            let calls = if let [call] = calls.as_slice() { call.clone() } else { Value::Array(calls.clone()) };
            members.insert("do".to_owned(), calls);
        }
        Action::Pause(seconds) => drop(members.insert("pause".to_owned(), (*seconds).into())),
        Action::Advance(by) => drop(members.insert("advance".to_owned(), by.clone())),
        Action::Learn(names) => drop(members.insert("learn".to_owned(), Value::Object(names.clone()))),
    }
    members
}

fn insert_request(step: &mut Map<String, Value>, request: &RequestStep) {
    let mut members = Map::new();
    members.insert("method".to_owned(), request.method.as_str().into());
    members.insert("path".to_owned(), request.path.as_str().into());
    if request.service != Service::Auth {
        members.insert("service".to_owned(), request.service.as_str().into());
    }
    if let Some(bearer) = &request.bearer {
        members.insert("bearer".to_owned(), bearer.clone());
    }
    if !request.headers.is_empty() {
        members.insert("headers".to_owned(), Value::Object(request.headers.clone()));
    }
    let body = match &request.body {
        RequestBody::None => None,
        RequestBody::Json(value) => Some(("json", value)),
        RequestBody::Form(value) => Some(("form", value)),
        RequestBody::Raw(value) => Some(("raw", value)),
        RequestBody::RawBase64(value) => Some(("raw_base64", value)),
    };
    if let Some((name, value)) = body {
        members.insert(name.to_owned(), value.clone());
    }
    step.insert("request".to_owned(), Value::Object(members));
    if request.repeat > 1 {
        step.insert("repeat".to_owned(), request.repeat.into());
    }
    if !request.captures.is_empty() {
        let captures = request.captures.iter().map(|(name, place)| (name.clone(), place.as_str().into())).collect();
        step.insert("capture".to_owned(), Value::Object(captures));
    }
    match request.setup_status {
        SetupStatus::Success => {}
        SetupStatus::Exactly(status) => drop(step.insert("status".to_owned(), status.into())),
        SetupStatus::Any => drop(step.insert("status".to_owned(), "any".into())),
    }
    insert_match(step, request.is_subset);
    if let Some(expect) = &request.expect {
        step.insert("expect".to_owned(), expect.clone());
    }
}

fn insert_match(step: &mut Map<String, Value>, is_subset: bool) {
    if is_subset {
        step.insert("match".to_owned(), "subset".into());
    }
}

/// Writes a value in lines that are indented by `depth`.
fn write_value(text: &mut String, value: &Value, depth: usize) {
    if !(value.is_object() || value.is_array()) {
        write_inline(text, value, usize::MAX);
        return;
    }
    let start = text.len();
    let end = start + WIDTH.saturating_sub(depth) * MAX_CHARACTER;
    if write_inline(text, value, end) && depth + text[start..].chars().count() <= WIDTH {
        return;
    }
    text.truncate(start);
    let indent = " ".repeat(depth + 1);
    let (open, close, length) = match value {
        Value::Object(members) => ('{', '}', members.len()),
        _ => ('[', ']', value.as_array().map_or(0, Vec::len)),
    };
    text.push(open);
    let mut write_item = |number: usize, name: Option<&String>, item: &Value| {
        text.push('\n');
        text.push_str(&indent);
        if let Some(name) = name {
            write_text(text, name);
            text.push_str(": ");
        }
        write_value(text, item, depth + 1);
        if number + 1 < length {
            text.push(',');
        }
    };
    match value {
        Value::Object(members) => {
            members.iter().enumerate().for_each(|(number, (name, item))| write_item(number, Some(name), item));
        }
        Value::Array(items) => items.iter().enumerate().for_each(|(number, item)| write_item(number, None, item)),
        _ => {}
    }
    text.push('\n');
    text.push_str(&" ".repeat(depth));
    text.push(close);
}

/// Formats a value on one line.
pub(crate) fn format_inline(value: &Value) -> String {
    let mut text = String::new();
    write_inline(&mut text, value, usize::MAX);
    text
}

/// Appends a value on one line; stops and returns false once the text is longer than `end` bytes.
fn write_inline(text: &mut String, value: &Value, end: usize) -> bool {
    match value {
        Value::Object(members) if members.is_empty() => text.push_str("{}"),
        Value::Object(members) => {
            for (number, (name, item)) in members.iter().enumerate() {
                text.push_str(if number == 0 { "{" } else { ", " });
                write_text(text, name);
                text.push_str(": ");
                if !write_inline(text, item, end) {
                    return false;
                }
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (number, item) in items.iter().enumerate() {
                text.push_str(if number == 0 { "" } else { ", " });
                if !write_inline(text, item, end) {
                    return false;
                }
            }
            text.push(']');
        }
        Value::String(item) => write_text(text, item),
        other => drop(write!(text, "{other}")),
    }
    text.len() <= end
}

/// Appends a text as JSON.
fn write_text(text: &mut String, item: &str) {
    // Most texts need no escapes.
    if item.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        text.push('"');
        text.push_str(item);
        text.push('"');
        return;
    }
    let _ = write!(text, "{}", Value::from(item));
}
