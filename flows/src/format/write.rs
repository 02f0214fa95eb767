//! Writes the file of a flow: what fits stands on one line, which is one line of a difference.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::flow::{Action, Flow, HeaderComparison, RequestBody, RequestStep, Service, SetupStatus, Step};

/// The longest line that an object or a list shares.
const WIDTH: usize = 140;
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
        write_value(&mut text, value, 1, name.len() + 5);
        text.push_str(",\n");
    }
    text.push_str(" \"steps\": [");
    text
}

/// Formats a step at its indentation.
pub(crate) fn format_step(step: &Step) -> String {
    let mut text = String::from("  ");
    write_value(&mut text, &Value::Object(step_members(step)), 2, 2);
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
        Action::Do(calls) => drop(members.insert("do".to_owned(), Value::Array(calls.clone()))),
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
    if request.service == Service::Functions {
        members.insert("service".to_owned(), "functions".into());
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

/// Writes a value that begins at `column`, in lines that are indented by `depth`.
fn write_value(text: &mut String, value: &Value, depth: usize, column: usize) {
    let inline = format_inline(value);
    let is_nested = matches!(value, Value::Object(members) if depth == 2 && members.len() > 1);
    if !is_nested && column + inline.chars().count() <= WIDTH || !(value.is_object() || value.is_array()) {
        text.push_str(&inline);
        return;
    }
    let indent = " ".repeat(depth + 1);
    let (open, close, length) = match value {
        Value::Object(members) => ('{', '}', members.len()),
        _ => ('[', ']', value.as_array().map_or(0, Vec::len)),
    };
    text.push(open);
    let mut write_item = |number: usize, name: Option<&String>, item: &Value| {
        let start = name.map(|name| format!("{}: ", Value::from(name.as_str()))).unwrap_or_default();
        text.push('\n');
        text.push_str(&indent);
        text.push_str(&start);
        write_value(text, item, depth + 1, depth + 2 + start.chars().count());
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
    match value {
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let items =
                members.iter().map(|(name, item)| format!("{}: {}", Value::from(name.as_str()), format_inline(item)));
            format!("{{ {} }}", items.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(format_inline).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
