//! Checks that a response is documented and that failures write nothing.

use platform::testing::Answer;
use serde_json::{Map, Value};

use super::recorded;
use super::routes::{RouteCase, Tables};
use super::sent::RequestBody;

/// The tables whose digests differ.
pub(super) fn differing_tables(before: &Tables, after: &Tables) -> Vec<String> {
    after.iter().filter(|(table, digest)| before.get(*table) != Some(digest)).map(|(table, _)| table.clone()).collect()
}

/// Returns why a response is not acceptable.
pub(super) fn validate_response(
    route: &RouteCase,
    sent: &RequestBody,
    answer: &Answer,
    changed: Vec<String>,
) -> Result<(), String> {
    let status = answer.status.as_u16();
    if recorded::is_prefetch(&route.line, sent, answer) {
        return Ok(());
    }
    if status >= 500 && !recorded::is_failure(&route.line, sent, answer) {
        return Err("a failure that was never recorded".to_owned());
    }
    if answer.status.is_redirection() {
        return if answer.header("location").is_empty() { Err("a way that leads nowhere".to_owned()) } else { Ok(()) };
    }
    if !answer.status.is_client_error() && !answer.status.is_server_error() {
        let is_known =
            answer.text.is_empty() || !answer.json.is_null() || answer.header("content-type") == "application/xml";
        return if is_known { Ok(()) } else { Err("a success that is neither JSON nor XML".to_owned()) };
    }
    let written: Vec<_> =
        changed.into_iter().filter(|table| !recorded::may_write(&route.line, answer, table)).collect();
    if !written.is_empty() {
        return Err(format!("refused, yet written: {written:?}"));
    }
    let Value::Object(members) = &answer.json else { return Err("a refusal that is no JSON object".to_owned()) };
    if is_gotrue_error(members, status) || is_oauth_error(members) || is_versioned_error(members) {
        return Ok(());
    }
    Err("a refusal of no documented form".to_owned())
}

/// `{"code": 400, "error_code": "…", "msg": "…"}`, perhaps with `error_id` or `weak_password`.
fn is_gotrue_error(members: &Map<String, Value>, status: u16) -> bool {
    let known = ["code", "error_code", "msg", "error_id", "weak_password"];
    let is_text =
        |name: &str| members.get(name).is_some_and(|value| value.as_str().is_some_and(|text| !text.is_empty()));
    members.get("code").and_then(Value::as_u64) == Some(u64::from(status))
        && is_text("msg")
        && (is_text("error_code") || !members.contains_key("error_code"))
        && members.keys().all(|name| known.contains(&name.as_str()))
}

/// `{"error": "…", "error_description": "…"}`.
fn is_oauth_error(members: &Map<String, Value>) -> bool {
    members.get("error").is_some_and(Value::is_string)
        && members.keys().all(|name| ["error", "error_description"].contains(&name.as_str()))
}

/// `{"code": "…", "message": "…"}`: the newer API version, or a database error with its own code.
fn is_versioned_error(members: &Map<String, Value>) -> bool {
    let known = ["code", "message", "hint", "detail", "error_id", "weak_password"];
    let is_text = |name: &str| members.get(name).is_some_and(Value::is_string);
    is_text("code") && is_text("message") && members.keys().all(|name| known.contains(&name.as_str()))
}
