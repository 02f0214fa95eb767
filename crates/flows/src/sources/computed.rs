//! Small computations on values.

use serde_json::Value;

use super::arguments::wanted;
use crate::FlowError;
use crate::expressions::as_text;
use crate::text::parse_url;

/// The longest repeated text.
const MAX_REPEATED: usize = 8 << 20;

pub(super) fn call(name: &str, arguments: &Value) -> Result<Option<Value>, FlowError> {
    let value = match name {
        "url" => parse_url(arguments.as_str().ok_or_else(|| wanted(name, "\"{{mail1.link}}\""))?),
        "json" => {
            let text = as_text(arguments);
            serde_json::from_str(&text)
                .map_err(|error| FlowError::new(format!("json: the text is no JSON: {error}"), "check the value"))?
        }
        "text" => arguments.to_string().into(),
        "add" => {
            let items = list(arguments, name)?;
            let whole: Option<i64> = items.iter().map(Value::as_i64).sum();
            match whole {
                Some(sum) => sum.into(),
                None => items.iter().filter_map(Value::as_f64).sum::<f64>().into(),
            }
        }
        "length" => match arguments {
            Value::Array(items) => items.len().into(),
            Value::Object(members) => members.len().into(),
            other => as_text(other).chars().count().into(),
        },
        "equal" => list(arguments, name)?.windows(2).all(|pair| pair[0] == pair[1]).into(),
        "concat" => list(arguments, name)?.iter().map(as_text).collect::<String>().into(),
        "contains" => {
            let [text, part] = list(arguments, name)? else { return Err(wanted(name, "[text, part]")) };
            match text {
                Value::Array(items) => items.contains(part).into(),
                text => as_text(text).contains(&*as_text(part)).into(),
            }
        }
        "cut" => cut(arguments)?,
        "repeat" => {
            let of = as_text(&arguments["of"]);
            let times = arguments["times"].as_u64().and_then(|times| usize::try_from(times).ok());
            let times = times.filter(|times| of.len().saturating_mul(*times) <= MAX_REPEATED);
            of.repeat(times.ok_or_else(|| wanted(name, "{\"of\": \"x\", \"times\": 3}"))?).into()
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

fn list<'a>(arguments: &'a Value, source: &str) -> Result<&'a [Value], FlowError> {
    arguments.as_array().map(Vec::as_slice).ok_or_else(|| wanted(source, "a list"))
}

/// Cuts a part out of a text; positions count characters, negative ones from the end.
fn cut(arguments: &Value) -> Result<Value, FlowError> {
    let form = "{\"of\": text, \"from\": 0, \"to\": 4}";
    let text: Vec<char> = arguments.get("of").map(as_text).ok_or_else(|| wanted("cut", form))?.chars().collect();
    let place = |name: &str, default: usize| {
        let Some(at) = arguments[name].as_i64() else { return default };
        let distance = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        if at < 0 { text.len().saturating_sub(distance) } else { distance.min(text.len()) }
    };
    let (from, to) = (place("from", 0), place("to", text.len()));
    Ok(text.get(from..to.max(from)).unwrap_or_default().iter().collect::<String>().into())
}
