//! Takes values out of responses for later requests.

use serde_json::{Map, Value};

use super::observe::ReceivedResponse;
use crate::FlowError;
use crate::expressions::find_path;
use crate::format::RequestStep;
use crate::sources::Scope;
use crate::text::{parse_pairs, parse_url, split_url};

/// Sets the variables of the step.
///
/// One that is not there is an error of the step that uses it; in a set-up step, of this one.
pub(super) fn capture(step: &RequestStep, response: &ReceivedResponse, scope: &Scope) -> Result<(), FlowError> {
    for (name, place) in &step.captures {
        match find(response, place)? {
            Some(value) => scope.set(name, value),
            None if step.expect.is_some() => {}
            None => {
                let problem = format!("the response has no {place} for the value {name}");
                return Err(FlowError::new(
                    problem,
                    format!("it had status {}: {}", response.status, excerpt(response)),
                ));
            }
        }
    }
    Ok(())
}

/// Returns the value at a place, such as `json.user.id` or `location.query.code`.
fn find(response: &ReceivedResponse, place: &str) -> Result<Option<Value>, FlowError> {
    let (kind, path) = place.split_once('.').unwrap_or((place, ""));
    let found = match kind {
        "status" => Some(response.status.into()),
        "text" => Some(String::from_utf8_lossy(&response.body).into_owned().into()),
        "json" => {
            let json = response.json();
            match (json, path) {
                (None, _) => None,
                (Some(json), "") => Some(json),
                (Some(json), path) => {
                    let whole = Map::from_iter([("json".to_owned(), json)]);
                    find_path(&whole, &format!("json.{path}")).cloned()
                }
            }
        }
        "headers" if path.is_empty() => Some(all_headers(response)),
        "headers" => response.header(path).map(Value::from),
        "location" => response.header("location").and_then(|location| find_in_url(&location, path)),
        _ => {
            let hint = "write json.…, text, status, headers.…, location, location.base, location.query.… or location.fragment.…";
            return Err(FlowError::new(format!("{place:?} is no place in a response"), hint));
        }
    };
    Ok(found)
}

fn find_in_url(location: &str, path: &str) -> Option<Value> {
    let parts = split_url(location);
    let (part, name) = path.split_once('.').unwrap_or((path, ""));
    let pairs = match part {
        "" => return Some(parse_url(location)),
        "query" if name.is_empty() => return Some(object(parse_pairs(parts.query))),
        "fragment" if name.is_empty() => return Some(object(parse_pairs(parts.fragment))),
        "base" => return Some(parts.base.into()),
        "query" => parse_pairs(parts.query),
        "fragment" => parse_pairs(parts.fragment),
        _ => return None,
    };
    pairs.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into())
}

fn object(pairs: Vec<(String, String)>) -> Value {
    Value::Object(pairs.into_iter().map(|(name, value)| (name, value.into())).collect())
}

/// Returns the headers by name, in the order of the response.
pub(super) fn all_headers(response: &ReceivedResponse) -> Value {
    let names = response.headers.keys().map(http::HeaderName::as_str);
    object(names.filter_map(|name| Some((name.to_owned(), response.header(name)?))).collect())
}

/// Returns the start of a body for an error.
pub(super) fn excerpt(response: &ReceivedResponse) -> String {
    String::from_utf8_lossy(&response.body).chars().take(300).collect()
}
