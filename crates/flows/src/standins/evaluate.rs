//! Fills placeholders and answers calls inside of answers, when the request that they answer is known.

use serde_json::{Map, Value};

use super::{computed, tokens};
use crate::FlowError;
use crate::expressions::{Call, as_text, fill_text};

/// The deepest value.
const MAX_DEPTH: usize = 64;

/// Fills the placeholders of a value and answers its calls.
///
/// # Errors
/// A value is missing, or a call is none of a computation.
pub(super) fn evaluate(value: &Value, variables: &Map<String, Value>) -> Result<Value, FlowError> {
    evaluate_at(value, variables, 0)
}

fn evaluate_at(value: &Value, variables: &Map<String, Value>, depth: usize) -> Result<Value, FlowError> {
    if depth > MAX_DEPTH {
        return Err(FlowError::new("an answer is nested too deeply", "set variables for the inner values"));
    }
    if let Some(Call { name, arguments }) = Call::of(value) {
        let arguments = evaluate_at(arguments, variables, depth + 1)?;
        if let Some(value) = computed::call(name, &arguments)? {
            return Ok(value);
        }
        let now = variables.get("now").and_then(Value::as_f64).unwrap_or_default();
        return tokens::call(name, &arguments, now)?.ok_or_else(|| {
            FlowError::new(format!("{name:?} is no computation for answers"), "set a variable before the answers")
        });
    }
    match value {
        // A page may contain what looks like a placeholder.
        Value::Object(members) if members.contains_key("page") => Ok(value.clone()),
        Value::String(text) => fill_text(text, variables),
        Value::Array(items) => items.iter().map(|item| evaluate_at(item, variables, depth + 1)).collect(),
        Value::Object(members) => {
            let mut filled = Map::with_capacity(members.len());
            for (name, item) in members {
                let name = fill_text(name, variables)?;
                filled.insert(as_text(&name).into_owned(), evaluate_at(item, variables, depth + 1)?);
            }
            Ok(Value::Object(filled))
        }
        other => Ok(other.clone()),
    }
}
