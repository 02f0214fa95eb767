//! Removes from a response with symbols everything that is no part of the API.

use serde_json::{Map, Number, Value};

use super::plain::{
    is_date, is_header_text, is_name, is_origin, is_sentence, is_sentence_member, is_symbol, is_symbolic_path, is_word,
    is_word_member,
};
use crate::format::Service;
use crate::runner::CONTENT_HEADERS;
use crate::symbols::{is_error_code, is_number_member};
use crate::text::split_origin;

const ANY: &str = "<any>";
/// Larger numbers can be numbers of phones or accounts.
const MAX_NUMBER: u64 = 100_000;
/// A larger note is no count.
const MAX_COUNT: u64 = 100;
/// Members with what applications store about a user.
const USER_MEMBERS: [&str; 4] = ["data", "user_metadata", "app_metadata", "identity_data"];
/// The deepest value that is kept.
const MAX_DEPTH: usize = 24;

/// What a flow does that its responses depend on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Context {
    /// A provider has given the profile of the user.
    pub has_external_profile: bool,
    /// A provider has refused the request, in its own words.
    pub has_external_error: bool,
}

/// Which members can have a sentence of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sentences {
    /// None: sentences of functions and of successful responses can have names of users.
    None,
    /// Those of an error's body.
    Error,
    /// `error_description` of a redirect (RFC 6749 §4.1.2.1).
    Redirect,
}

/// Where a value is in a response.
#[derive(Debug, Clone, Copy)]
struct Place {
    context: Context,
    sentences: Sentences,
    depth: usize,
    /// The status of the response.
    status: Option<i64>,
    /// Everything is that of an application, which no member of the API tells.
    is_of_application: bool,
    /// Everything is a row or an object of users.
    is_content: bool,
}

impl Place {
    fn new(context: Context, sentences: Sentences) -> Self {
        Self { context, sentences, depth: 0, status: None, is_of_application: false, is_content: false }
    }

    /// Returns the place of an item.
    fn below(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    /// Returns the place of a member.
    fn member(self, name: &str) -> Self {
        Self { is_of_application: self.is_of_application || USER_MEMBERS.contains(&name), ..self.below() }
    }

    /// Returns whether a member can have a number: the status of an error, or a small one by its name.
    fn can_have_number(self, name: &str, number: &Number) -> bool {
        let is_status = || matches!(name, "code" | "status") && number.as_i64() == self.status;
        let is_small = || number.as_i64().is_some_and(|number| number.unsigned_abs() < MAX_NUMBER);
        !self.is_of_application && number.is_i64() && (is_status() || is_number_member(name) && is_small())
    }

    /// Returns whether a member can have a sentence of the server, which is at the top.
    fn can_have_sentence(self, name: &str) -> bool {
        self.depth == 1
            && match self.sentences {
                Sentences::None => false,
                Sentences::Error => is_sentence_member(name),
                Sentences::Redirect => name == "error_description",
            }
    }
}

/// Starts of messages that name nothing but tables, columns, constraints and functions.
const SCHEMA_MESSAGES: [&str; 24] = [
    "permission denied for ",
    "new row violates row-level security policy",
    "relation \"",
    "column ",
    "function ",
    "null value in column \"",
    "insert or update on table \"",
    "update or delete on table \"",
    "duplicate key value violates unique constraint \"",
    "new row for relation \"",
    "Cannot coerce the result to a single JSON object",
    "JSON object requested, multiple (or no) rows returned",
    "Could not find ",
    "JWT expired",
    "Bucket not found",
    "Object not found",
    "Upload not found",
    "The resource already exists",
    "The resource was not found",
    "Payload too large",
    "The object exceeded the maximum allowed size",
    "Invalid JWT",
    "Unauthorized",
    "Bucket name invalid",
];
/// Errors of the storage API of several words.
const STORAGE_ERRORS: [&str; 4] = ["Bucket not found", "Invalid Input", "Payload too large", "Not found"];
/// The SQLSTATE of errors that a function of the project words.
const RAISED: &str = "P0001";

/// Returns an error of the data API or of the storage API.
///
/// Details and hints are left out: the first have values of rows, and servers differ in the second.
fn redact_problem(members: &Map<String, Value>) -> Value {
    let is_code = |text: &str| is_error_code(text) && !text.contains(|each: char| each.is_ascii_lowercase());
    let is_raised = members.get("code").is_some_and(|code| code == RAISED);
    let is_of_schema = |text: &str| is_sentence(text) && SCHEMA_MESSAGES.iter().any(|start| text.starts_with(start));
    let mut kept = Map::new();
    for (name, value) in members.iter().filter(|(name, _)| !matches!(name.as_str(), "details" | "hint")) {
        let text = value.as_str().unwrap_or_default();
        let is_kept = match name.as_str() {
            "code" | "statusCode" => is_code(text),
            "error" => is_name(text) || STORAGE_ERRORS.contains(&text),
            "message" => !is_raised && is_of_schema(text),
            _ => false,
        };
        if is_name(name) {
            kept.insert(name.clone(), if is_kept { value.clone() } else { ANY.into() });
        }
    }
    Value::Object(kept)
}

/// Returns whether the value of a header of the data API or of the storage API has nothing of users.
fn is_plain_header(name: &str, text: &str) -> bool {
    let is_small = |part: &str| part.parse::<u64>().is_ok_and(|number| number < MAX_NUMBER);
    let mut numbers = text.split(|each: char| !each.is_ascii_digit()).filter(|part| !part.is_empty());
    // An entity tag is a digest of the content.
    let is_kept = name == "content-type" || CONTENT_HEADERS.contains(&name) && name != "etag";
    is_kept && is_header_text(name, text) && numbers.all(is_small)
}

/// Returns whether a text is the name of an object in symbols, in some members behind its bucket.
fn is_object_name(text: &str, name: &str) -> bool {
    let has_bucket = matches!(name, "Key" | "fullPath");
    let mut segments = text.split('/').enumerate();
    text.contains('<') && segments.all(|(at, each)| is_symbol(each) || at == 0 && has_bucket && is_name(each))
}

/// Returns the response of a service for the file: `status`, `headers`, and `json` or `text`.
pub(crate) fn redact_response(observed: &Value, service: Service, context: Context) -> Value {
    let mut kept = Map::new();
    kept.insert("status".to_owned(), observed["status"].clone());
    let is_auth = service == Service::Auth;
    let has_description = is_auth && !context.has_external_error;
    let place = |sentences| Place {
        status: observed["status"].as_i64(),
        is_of_application: !is_auth,
        is_content: service.has_user_content(),
        ..Place::new(context, sentences)
    };
    let of_redirect = place(if has_description { Sentences::Redirect } else { Sentences::None });
    let mut headers = Map::new();
    for (name, value) in observed["headers"].as_object().into_iter().flatten() {
        // These depend on the origin of the page and on the gateway in front of the server.
        if name.starts_with("access-control-") {
            continue;
        }
        let value = match (name.as_str(), value) {
            ("location", url) => redact_url(url, of_redirect),
            (
                "content-type" | "www-authenticate" | "x-sb-error-code" | "x-supabase-api-version" | "retry-after",
                Value::String(text),
            ) if is_word(text) || is_date(text) => value.clone(),
            (_, Value::String(text)) if service.has_user_content() && is_plain_header(name, text) => value.clone(),
            _ => ANY.into(),
        };
        headers.insert(name.clone(), value);
    }
    kept.insert("headers".to_owned(), Value::Object(headers));
    if let Some(json) = observed.get("json") {
        let is_error = observed["status"].as_u64().is_some_and(|status| status >= 400);
        let sentences = if is_auth && is_error { Sentences::Error } else { Sentences::None };
        let json = match json {
            Value::Object(members) if service.has_user_content() && is_error => redact_problem(members),
            json => redact(json, "", place(sentences)),
        };
        kept.insert("json".to_owned(), json);
    }
    if let Some(Value::String(text)) = observed.get("text") {
        kept.insert("text".to_owned(), if is_symbol(text) { text.as_str().into() } else { ANY.into() });
    }
    Value::Object(kept)
}

/// Returns a value that is no response for the file.
pub(crate) fn redact_value(observed: &Value) -> Value {
    if observed.as_u64().is_some_and(|count| count < MAX_COUNT) {
        return observed.clone();
    }
    redact(observed, "", Place::new(Context::default(), Sentences::None))
}

fn redact(value: &Value, name: &str, place: Place) -> Value {
    if place.depth > MAX_DEPTH || is_external(name, place.context) || differs_by_design(name) {
        return ANY.into();
    }
    match value {
        Value::Object(members) => redact_members(members, place),
        Value::Array(items) => items.iter().map(|item| redact(item, name, place.below())).collect(),
        Value::Number(number) if place.can_have_number(name, number) => value.clone(),
        Value::Number(_) => ANY.into(),
        Value::String(text) => {
            if is_kept(text, name, place) {
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

fn redact_members(members: &Map<String, Value>, place: Place) -> Value {
    if !members.keys().all(|name| is_name(name) || is_symbol(name)) {
        return ANY.into();
    }
    if let (Some(token), 1) = (members.get("jwt"), members.len())
        && token.get("claims").is_some()
    {
        // The header has the algorithm and the key, which belong to the server.
        let claims = redact(&token["claims"], "", place.below());
        return serde_json::json!({ "jwt": { "claims": claims } });
    }
    let is_url = !place.is_content && members.contains_key("base");
    if is_url && members.keys().all(|name| matches!(name.as_str(), "base" | "query" | "fragment")) {
        return redact_url(&Value::Object(members.clone()), place.below());
    }
    let kept = members.iter().map(|(name, item)| (name.clone(), redact(item, name, place.member(name))));
    Value::Object(kept.collect())
}

/// Redacts a URL, whose parameters are the members at its place.
fn redact_url(url: &Value, place: Place) -> Value {
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
            Some(Value::Object(pairs)) => drop(kept.insert(part.to_owned(), redact_members(pairs, place))),
            Some(_) => drop(kept.insert(part.to_owned(), ANY.into())),
        }
    }
    Value::Object(kept)
}

fn is_kept(text: &str, name: &str, place: Place) -> bool {
    // A number of an application that is named like a time would be shown relative to the request.
    let is_number = place.is_of_application && text.starts_with("<now");
    // The alphabet of a value is not that of the generated one.
    let is_shape = place.is_content && text.contains(' ') && !text.starts_with("<time");
    text.is_empty()
        || (is_symbol(text) && !is_number && !is_shape)
        || (is_word_member(name) && is_word(text))
        || (name == "code" && is_error_code(text) && is_word(text))
        || (place.can_have_sentence(name) && is_sentence(text))
        || !place.is_content && (text.contains("<base>") || text.contains("<project>")) && is_symbolic_path(text)
        || place.is_content && !is_shape && (is_object_name(text, name) || name == "mimetype" && is_word(text))
}
