//! The claims that the access token hook answers with: what they must be for a token to work.

use serde_json::{Map, Value};

use super::super::error::{Error, Result};
use super::unreadable;
use crate::wire::go_json::Document;

/// Claims that must be there, in the order of complaints; `is_anonymous` may be anything.
const REQUIRED: [&str; 10] =
    ["aud", "exp", "iat", "sub", "email", "phone", "role", "aal", "session_id", "is_anonymous"];

/// What claims must be where they are there.
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

/// The claims of an output; `None` is the empty output, which has none.
pub fn read(output: Option<&[u8]>) -> Result<Map<String, Value>> {
    let Some(output) = output else { return Err(nonconforming(&complaint_at_root("null"))) };
    let mut members = Document::parse(output).and_then(|output| output.to_map()).map_err(unreadable)?;
    match members.remove("claims") {
        None => Err(Error::new(missing())),
        Some(Value::Null) => Err(nonconforming(&complaint_at_root("null"))),
        Some(Value::Object(claims)) => match complaints(&claims) {
            none if none.is_empty() => Ok(claims),
            some => Err(nonconforming(&some)),
        },
        Some(other) => Err(unreadable(format!("the claims are {}, not an object", type_of(&other)))),
    }
}

fn missing() -> super::Kind {
    super::Kind::Http { status: 500, code: None, message: "output claims field is missing".into() }
}

fn complaint_at_root(given: &str) -> String {
    line("(root)", &["object"], given)
}

fn nonconforming(complaints: &str) -> Error {
    let message = format!("output claims do not conform to the expected schema: \n{complaints}");
    Error::new(super::Kind::Http { status: 500, code: None, message: message.into() })
}

/// A line for each thing that is wrong.
fn complaints(claims: &Map<String, Value>) -> String {
    let missing = REQUIRED.iter().filter(|name| !claims.contains_key(**name));
    let mut lines = missing.map(|name| ["- (root): ", name, " is required\n"].concat()).collect::<String>();
    for (name, wanted) in TYPES {
        if let Some(given) = claims.get(name).map(type_of).filter(|given| !wanted.contains(given)) {
            lines.push_str(&line(name, wanted, given));
        }
    }
    lines.push_str(&complaints_of_methods(claims.get("amr")));
    lines
}

/// Methods are texts or objects.
fn complaints_of_methods(amr: Option<&Value>) -> String {
    let methods = match amr {
        None => return String::new(),
        Some(Value::Array(methods)) => methods,
        Some(other) => return line("amr", &["array"], type_of(other)),
    };
    let complaint = |(at, method): (usize, &Value)| match type_of(method) {
        "string" | "object" => None,
        given => {
            let place = format!("amr.{at}");
            let choice = format!("- {place}: Must validate at least one schema (anyOf)\n");
            Some(choice + &line(&place, &["string"], given))
        }
    };
    methods.iter().enumerate().filter_map(complaint).collect()
}

fn line(place: &str, wanted: &[&str], given: &str) -> String {
    let wanted = match wanted {
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(",")),
    };
    format!("- {place}: Invalid type. Expected: {wanted}, given: {given}\n")
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
