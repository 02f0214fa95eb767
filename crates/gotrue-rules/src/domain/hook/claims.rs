//! Validation of the claims that the custom access token hook returns.

use foundation::error::{Error, Result};
use serde_json::{Map, Value};

use super::malformed_output;
use crate::wire::go_json::{Document, JsonType};

/// Required claims, in the order of error messages; `is_anonymous` may have any type.
const REQUIRED: [&str; 10] =
    ["aud", "exp", "iat", "sub", "email", "phone", "role", "aal", "session_id", "is_anonymous"];

/// JSON types of claims, if present.
const TYPES: [(&str, &[&str]); 15] = [
    ("aud", &["string", "array"]),
    ("exp", &["integer"]),
    ("jti", &["string"]),
    ("iat", &["integer"]),
    ("iss", &["string"]),
    ("nbf", &["integer"]),
    ("sub", &["string"]),
    ("email", &["string"]),
    ("phone", &["string"]),
    ("app_metadata", &["object"]),
    ("user_metadata", &["object"]),
    ("role", &["string"]),
    ("aal", &["string"]),
    ("session_id", &["string"]),
    ("client_id", &["string"]),
];

/// Parses the claims of an output; `None` is the empty output.
pub fn parse_claims(output: Option<&[u8]>) -> Result<Map<String, Value>> {
    let Some(output) = output else { return Err(schema_error(&root_type_error("null"))) };
    let mut members = Document::parse(output).and_then(|output| output.to_map()).map_err(malformed_output)?;
    match members.remove("claims") {
        None => Err(Error::from_kind(missing_claims())),
        Some(Value::Null) => Err(schema_error(&root_type_error("null"))),
        Some(Value::Object(claims)) => match schema_violations(&claims) {
            none if none.is_empty() => Ok(claims),
            some => Err(schema_error(&some)),
        },
        Some(other) => Err(malformed_output(format!("the claims are {}, not an object", json_type(&other)))),
    }
}

fn missing_claims() -> super::ErrorKind {
    super::ErrorKind::Http { status: 500, code: None, message: "output claims field is missing".into() }
}

fn root_type_error(given: &str) -> String {
    violation_line("(root)", &["object"], given)
}

fn schema_error(complaints: &str) -> Error {
    let message = format!("output claims do not conform to the expected schema: \n{complaints}");
    Error::from_kind(super::ErrorKind::Http { status: 500, code: None, message: message.into() })
}

/// Returns one line per violation.
fn schema_violations(claims: &Map<String, Value>) -> String {
    let missing = REQUIRED.iter().filter(|name| !claims.contains_key(**name));
    let mut lines = missing.map(|name| ["- (root): ", name, " is required\n"].concat()).collect::<String>();
    for (name, wanted) in TYPES {
        if let Some(given) = claims.get(name).map(json_type).filter(|given| !wanted.contains(given)) {
            lines.push_str(&violation_line(name, wanted, given));
        }
    }
    lines.push_str(&amr_violations(claims.get("amr")));
    lines
}

/// Returns violations in `amr`, whose entries are texts or objects.
fn amr_violations(amr: Option<&Value>) -> String {
    let methods = match amr {
        None => return String::new(),
        Some(Value::Array(methods)) => methods,
        Some(other) => return violation_line("amr", &["array"], json_type(other)),
    };
    let complaint = |(at, method): (usize, &Value)| match json_type(method) {
        "string" | "object" => None,
        given => {
            let place = format!("amr.{at}");
            let choice = format!("- {place}: Must validate at least one schema (anyOf)\n");
            Some(choice + &violation_line(&place, &["string"], given))
        }
    };
    methods.iter().enumerate().filter_map(complaint).collect()
}

fn violation_line(place: &str, wanted: &[&str], given: &str) -> String {
    let wanted = match wanted {
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(",")),
    };
    format!("- {place}: Invalid type. Expected: {wanted}, given: {given}\n")
}

/// The type's name in JSON Schema, where a whole number is an `integer`.
fn json_type(value: &Value) -> &'static str {
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 => "integer",
        _ => JsonType::from(value).as_str(),
    }
}
