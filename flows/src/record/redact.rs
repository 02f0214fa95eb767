//! Removes from a response with symbols everything that is no part of the API.

use serde_json::{Map, Value};

use super::plain::{
    is_date, is_name, is_origin, is_sentence, is_sentence_member, is_symbol, is_symbolic_path, is_word, is_word_member,
};
use crate::text::split_origin;

const ANY: &str = "<any>";
/// Larger numbers can be numbers of phones or accounts.
const MAX_NUMBER: f64 = 100_000.0;
/// The deepest value that is kept.
const MAX_DEPTH: usize = 24;

/// What a flow does that its responses depend on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Context {
    /// A provider has given the profile of the user.
    pub has_external_profile: bool,
}

/// Returns the response for the file: `status`, `headers`, and `json` or `text`.
pub(super) fn redact_response(observed: &Value, context: Context) -> Value {
    let mut kept = Map::new();
    kept.insert("status".to_owned(), observed["status"].clone());
    let mut headers = Map::new();
    for (name, value) in observed["headers"].as_object().into_iter().flatten() {
        // These depend on the origin of the page and on the gateway in front of the server.
        if name.starts_with("access-control-") {
            continue;
        }
        let value = match (name.as_str(), value) {
            ("location", url) => redact_url(url, context),
            (
                "content-type" | "www-authenticate" | "x-sb-error-code" | "x-supabase-api-version" | "retry-after",
                Value::String(text),
            ) if is_word(text) || is_date(text) => value.clone(),
            _ => ANY.into(),
        };
        headers.insert(name.clone(), value);
    }
    kept.insert("headers".to_owned(), Value::Object(headers));
    if let Some(json) = observed.get("json") {
        kept.insert("json".to_owned(), redact(json, "", (context, 0)));
    }
    if let Some(Value::String(text)) = observed.get("text") {
        let is_kept = is_symbol(text) || is_sentence(text);
        kept.insert("text".to_owned(), if is_kept { text.as_str().into() } else { ANY.into() });
    }
    Value::Object(kept)
}

fn redact(value: &Value, name: &str, (context, depth): (Context, usize)) -> Value {
    if depth > MAX_DEPTH || is_external(name, context) || differs_by_design(name) {
        return ANY.into();
    }
    match value {
        Value::Object(members) => redact_members(members, (context, depth)),
        Value::Array(items) => items.iter().map(|item| redact(item, name, (context, depth + 1))).collect(),
        Value::Number(number) if number.as_f64().is_some_and(|number| number.abs() < MAX_NUMBER) => value.clone(),
        Value::Number(_) => ANY.into(),
        Value::String(text) => {
            if is_kept(text, name) {
                value.clone()
            } else {
                ANY.into()
            }
        }
        Value::Bool(_) | Value::Null => value.clone(),
    }
}

/// Returns whether a member has what a provider returned about the user.
fn is_external(name: &str, context: Context) -> bool {
    context.has_external_profile && matches!(name, "user_metadata" | "identity_data" | "provider_id" | "identities")
}

/// Returns whether servers differ in a member by design.
///
/// The tokens of a provider have its form. How much a server asks of authenticators is its policy
/// (`docs/compatibility.md`).
fn differs_by_design(name: &str) -> bool {
    matches!(name, "provider_token" | "provider_refresh_token" | "userVerification")
}

fn redact_members(members: &Map<String, Value>, (context, depth): (Context, usize)) -> Value {
    if !members.keys().all(|name| is_name(name) || is_symbol(name)) {
        return ANY.into();
    }
    if let (Some(token), 1) = (members.get("jwt"), members.len())
        && token.get("claims").is_some()
    {
        // The header has the algorithm and the key, which belong to the server.
        let claims = redact(&token["claims"], "", (context, depth + 1));
        return serde_json::json!({ "jwt": { "claims": claims } });
    }
    if members.contains_key("base") && members.keys().all(|name| matches!(name.as_str(), "base" | "query" | "fragment"))
    {
        return redact_url(&Value::Object(members.clone()), context);
    }
    let kept = members.iter().map(|(name, item)| (name.clone(), redact(item, name, (context, depth + 1))));
    Value::Object(kept.collect())
}

fn redact_url(url: &Value, context: Context) -> Value {
    let Some(base) = url["base"].as_str() else { return ANY.into() };
    let is_plain = match split_origin(base) {
        Some((origin, path)) => is_origin(origin) && is_symbolic_path(path),
        None => is_symbolic_path(base),
    };
    if !is_plain {
        return ANY.into();
    }
    let mut kept = Map::new();
    kept.insert("base".to_owned(), base.into());
    for part in ["query", "fragment"] {
        match url.get(part) {
            None => {}
            Some(Value::Object(pairs)) => drop(kept.insert(part.to_owned(), redact_members(pairs, (context, 1)))),
            Some(_) => drop(kept.insert(part.to_owned(), ANY.into())),
        }
    }
    Value::Object(kept)
}

fn is_kept(text: &str, name: &str) -> bool {
    text.is_empty()
        || is_symbol(text)
        || (is_word_member(name) && is_word(text))
        || (name == "code" && crate::symbols::is_error_code(text) && is_word(text))
        || (is_sentence_member(name) && is_sentence(text))
        || (text.contains("<base>") || text.contains("<project>")) && is_symbolic_path(text)
}
