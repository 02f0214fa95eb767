//! Reads the file of a flow; every problem names the step and the member.

use serde_json::{Map, Value};

use super::flow::{Action, Flow, HeaderComparison, Profile, RequestBody, RequestStep, Service, SetupStatus, Step};
use crate::FlowError;

/// The most steps of a file.
const MAX_STEPS: usize = 20_000;
/// The most repetitions of a request.
const MAX_REPEAT: u64 = 1_000;
const HINT: &str = "docs/guides/record-and-replay.md describes the format";

/// Reads a flow from the text of its file.
///
/// # Errors
/// The text is no JSON, or a member is unknown or of another type; the error names it.
pub fn parse_flow(text: &str) -> Result<Flow, FlowError> {
    let parsed: Value = serde_json::from_str(text).map_err(|error| invalid(format!("the file is no JSON: {error}")))?;
    let mut members = object(parsed, "the file")?;
    let mut flow = Flow {
        name: text_of(members.shift_remove("flow"), "flow")?.unwrap_or_default(),
        about: text_of(members.shift_remove("about"), "about")?,
        profile: match text_of(members.shift_remove("profile"), "profile")?.as_deref() {
            None | Some("serve") => Profile::Serve,
            Some("gotrue") => Profile::Gotrue,
            Some(other) => return Err(invalid(format!("profile: {other:?} is neither serve nor gotrue"))),
        },
        settings: optional_object(members.shift_remove("settings"), "settings")?,
        headers: match text_of(members.shift_remove("compare"), "compare")?.as_deref() {
            None | Some("exact") => HeaderComparison::Exact,
            Some("relevant") => HeaderComparison::Relevant,
            Some(other) => return Err(invalid(format!("compare: {other:?} is neither exact nor relevant"))),
        },
        values: optional_object(members.shift_remove("values"), "values")?,
        steps: Vec::new(),
    };
    let steps = match members.shift_remove("steps") {
        Some(Value::Array(steps)) if steps.len() <= MAX_STEPS => steps,
        Some(Value::Array(_)) => return Err(invalid(format!("there are more than {MAX_STEPS} steps"))),
        _ => return Err(invalid("steps: a list is wanted")),
    };
    reject_others(&members, "the file")?;
    for (number, step) in steps.into_iter().enumerate() {
        flow.steps.push(parse_step(step).map_err(|error| error.at(&format!("step {number}")))?);
    }
    Ok(flow)
}

fn parse_step(step: Value) -> Result<Step, FlowError> {
    let mut members = object(step, "a step")?;
    let label = text_of(members.shift_remove("label"), "label")?;
    let action = if let Some(request) = members.shift_remove("request") {
        Action::Request(Box::new(parse_request(object(request, "request")?, &mut members)?))
    } else if let Some(value) = members.shift_remove("note") {
        let expect = members.shift_remove("expect").ok_or_else(|| invalid("expect: a note needs the value it had"))?;
        Action::Note { value, expect, is_subset: parse_match(&mut members)? }
    } else if let Some(names) = members.shift_remove("set") {
        Action::Set(object(names, "set")?)
    } else if let Some(names) = members.shift_remove("values") {
        Action::Values(object(names, "values")?)
    } else if let Some(calls) = members.shift_remove("do") {
        Action::Do(match calls {
            Value::Array(calls) => calls,
            call => vec![call],
        })
    } else if let Some(seconds) = members.shift_remove("pause") {
        let seconds = seconds.as_f64().filter(|seconds| (0.0..=600.0).contains(seconds));
        Action::Pause(seconds.ok_or_else(|| invalid("pause: seconds from 0 to 600 are wanted"))?)
    } else if let Some(by) = members.shift_remove("advance") {
        Action::Advance(by)
    } else if let Some(names) = members.shift_remove("learn") {
        Action::Learn(object(names, "learn")?)
    } else {
        return Err(invalid("one of request, note, set, values, do, pause, advance and learn is wanted"));
    };
    reject_others(&members, "the step")?;
    Ok(Step { label, action })
}

fn parse_request(mut request: Map<String, Value>, step: &mut Map<String, Value>) -> Result<RequestStep, FlowError> {
    let parsed = RequestStep {
        method: text_of(request.shift_remove("method"), "method")?.unwrap_or_else(|| "GET".to_owned()),
        path: text_of(request.shift_remove("path"), "path")?.ok_or_else(|| invalid("path: a text is wanted"))?,
        service: match text_of(request.shift_remove("service"), "service")?.as_deref() {
            None => Service::Auth,
            Some(name) => Service::ALL
                .into_iter()
                .find(|service| service.as_str() == name)
                .ok_or_else(|| invalid(format!("service: {name:?} is not auth, functions, rest or storage")))?,
        },
        bearer: request.shift_remove("bearer"),
        headers: optional_object(request.shift_remove("headers"), "headers")?,
        body: parse_body(&mut request)?,
        captures: parse_captures(step.shift_remove("capture"))?,
        expect: step.shift_remove("expect"),
        setup_status: match step.shift_remove("status") {
            None => SetupStatus::Success,
            Some(Value::String(any)) if any == "any" => SetupStatus::Any,
            Some(status) => {
                let status = status.as_u64().and_then(|status| u16::try_from(status).ok());
                SetupStatus::Exactly(status.ok_or_else(|| invalid("status: a number or \"any\" is wanted"))?)
            }
        },
        is_subset: parse_match(step)?,
        repeat: match step.shift_remove("repeat") {
            None => 1,
            Some(times) => {
                let times = times.as_u64().filter(|times| (1..=MAX_REPEAT).contains(times));
                let times = times.and_then(|times| u32::try_from(times).ok());
                times.ok_or_else(|| invalid(format!("repeat: a number from 1 to {MAX_REPEAT} is wanted")))?
            }
        },
    };
    reject_others(&request, "request")?;
    Ok(parsed)
}

/// Builds the body of one kind.
type BuildBody = fn(Value) -> RequestBody;

fn parse_body(request: &mut Map<String, Value>) -> Result<RequestBody, FlowError> {
    let kinds: [(&str, BuildBody); 4] = [
        ("json", RequestBody::Json),
        ("form", RequestBody::Form),
        ("raw", RequestBody::Raw),
        ("raw_base64", RequestBody::RawBase64),
    ];
    let mut body = RequestBody::None;
    for (name, build) in kinds {
        if let Some(value) = request.shift_remove(name) {
            if body != RequestBody::None {
                return Err(invalid(format!("{name}: a request has one body")));
            }
            body = build(value);
        }
    }
    Ok(body)
}

fn parse_captures(captures: Option<Value>) -> Result<Vec<(String, String)>, FlowError> {
    let captures = optional_object(captures, "capture")?;
    let each = captures.into_iter().map(|(name, place)| match place {
        Value::String(place) => Ok((name, place)),
        _ => Err(invalid(format!("capture.{name}: a text such as json.access_token is wanted"))),
    });
    each.collect()
}

fn parse_match(members: &mut Map<String, Value>) -> Result<bool, FlowError> {
    match text_of(members.shift_remove("match"), "match")?.as_deref() {
        None | Some("exact") => Ok(false),
        Some("subset") => Ok(true),
        Some(other) => Err(invalid(format!("match: {other:?} is neither exact nor subset"))),
    }
}

fn object(value: Value, what: &str) -> Result<Map<String, Value>, FlowError> {
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(invalid(format!("{what}: an object is wanted"))),
    }
}

fn optional_object(value: Option<Value>, what: &str) -> Result<Map<String, Value>, FlowError> {
    value.map_or_else(|| Ok(Map::new()), |value| object(value, what))
}

fn text_of(value: Option<Value>, what: &str) -> Result<Option<String>, FlowError> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(format!("{what}: a text is wanted"))),
    }
}

fn reject_others(members: &Map<String, Value>, what: &str) -> Result<(), FlowError> {
    members.keys().next().map_or(Ok(()), |name| Err(invalid(format!("{name}: {what} has no such member"))))
}

fn invalid(problem: impl Into<String>) -> FlowError {
    FlowError::new(problem, HINT)
}
