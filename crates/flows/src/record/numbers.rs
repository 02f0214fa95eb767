//! Replaces numbers of requests by placeholders.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value, json};

use super::known::KnownValues;
use super::plain::is_name;
use super::session::FlowSession;
use crate::format::Action;

/// Numbers of fewer digits occur in others by chance.
const MIN_LEARNED: usize = 4;
/// The most digits that all servers keep.
const MAX_DIGITS: usize = 15;
/// The deepest member of a response that is searched.
const MAX_DEPTH: usize = 12;

/// Replaces a number: by the placeholder of a known one, or of a generated one of its length.
pub(super) fn number(session: &mut FlowSession, recorded: &Number) -> Value {
    let name = match session.numbers.find(&recorded.to_string()) {
        Some(known) => known.to_owned(),
        None => generate(session, recorded),
    };
    format!("{{{{{name}}}}}").into()
}

/// Adds a generated number for a recorded one; responses show a long one by its name. Returns its name.
fn generate(session: &mut FlowSession, recorded: &Number) -> String {
    let text = recorded.to_string();
    let (digits, decimals) = count_digits(&text);
    let name = session.name("number");
    session.numbers.insert(&text, name.clone());
    let mut call = json!({ "digits": digits });
    if decimals > 0 {
        call["decimals"] = decimals.into();
    }
    if digits < MIN_LEARNED {
        session.set(&name, json!({ "@number": call }));
        return name;
    }
    // Shown numbers differ, so that each symbol stands for one.
    call["index"] = session.symbols.count_numbers().into();
    session.symbols.learn_number(recorded, &name);
    session.push(Action::Values(Map::from_iter([(name.clone(), json!({ "number": call }))])));
    name
}

/// Counts the digits of a number from the first that is not zero, and its decimals.
fn count_digits(text: &str) -> (usize, usize) {
    if text.contains('e') {
        return (1, 0);
    }
    let text = text.trim_start_matches('-');
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{decimals}").trim_start_matches('0').len().max(1);
    (digits.min(MAX_DIGITS), decimals.len().saturating_sub(digits.saturating_sub(MAX_DIGITS)))
}

/// Adds the numbers of a response below an expression, without short ones that are no ids.
pub(super) fn insert_members(known: &mut KnownValues, value: &Value, expression: &str, depth: usize) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::Object(members) => {
            for (name, item) in members.iter().filter(|(name, _)| is_name(name) && !name.contains('.')) {
                insert_members(known, item, &format!("{expression}.{name}"), depth + 1);
            }
        }
        Value::Array(items) => {
            let mut below = expression.to_owned();
            for (at, item) in items.iter().enumerate() {
                let _ = write!(below, ".{at}");
                insert_members(known, item, &below, depth + 1);
                below.truncate(expression.len());
            }
        }
        Value::Number(number) => {
            let text = number.to_string();
            let is_id = expression.rsplit(['.', '_']).next() == Some("id");
            if is_id || count_digits(&text).0 >= MIN_LEARNED {
                known.insert(&text, expression.to_owned());
            }
        }
        _ => {}
    }
}
