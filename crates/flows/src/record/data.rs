//! Requests of the data API: columns, operators and functions stay, values become placeholders.

use http_edge::request::APIKEY;
use serde_json::{Number, json};

use super::exchange::Exchange;
use super::numbers::number;
use super::plain::is_name;
use super::session::FlowSession;
use super::texts::{encode_outside_placeholders, text};
use crate::text::{parse_pairs, split_url};

/// Operators whose result depends on nothing but whether values are equal.
const EQUALITY_OPERATORS: [&str; 5] = ["eq", "neq", "is", "isdistinct", "in"];
/// Operators whose result depends on order, pattern, words or parts of values.
const COMPARISON_OPERATORS: [&str; 20] = [
    "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch", "cs", "cd", "ov", "sl", "sr", "nxr", "nxl", "adj",
    "fts", "plfts", "phfts", "wfts",
];
/// Parameters with names of columns.
const COLUMN_PARAMETERS: [&str; 4] = ["select", "order", "columns", "on_conflict"];
/// Parameters with the place and the size of a page.
const PAGE_PARAMETERS: [&str; 2] = ["limit", "offset"];
/// Parameters with a group of conditions.
const GROUP_PARAMETERS: [&str; 2] = ["or", "and"];
/// What the operator `is` can have.
const IS_VALUES: [&str; 5] = ["null", "not_null", "true", "false", "unknown"];
/// The most digits of the place and the size of a page.
const MAX_PAGE_DIGITS: usize = 5;
/// The most digits of an index in a JSON path.
const MAX_INDEX_DIGITS: usize = 2;
/// The deepest group of conditions.
const MAX_DEPTH: usize = 8;

/// Replaces one value of a column.
type ReplaceValue = fn(&mut FlowSession, &str, &str) -> String;

/// Returns the path with placeholders: the table or the function, and the parameters.
pub(super) fn path(session: &mut FlowSession, exchange: &Exchange) -> String {
    let parts = split_url(&exchange.path);
    let mut path = String::new();
    for segment in parts.base.split('/').skip(1) {
        path.push('/');
        let name = percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned();
        let is_kept = name.is_empty() || is_name(&name);
        path.push_str(&if is_kept { name } else { provided(session, "the name of a table or function") });
    }
    let mut separator = '?';
    for (name, value) in parse_pairs(parts.query) {
        if name == APIKEY.as_str() {
            continue;
        }
        let filled = parameter(session, &name, &value);
        let name = if is_column_list(&name) { name } else { provided(session, "the name of a column or argument") };
        path.push(separator);
        separator = '&';
        path.push_str(&encode_grammar(&name));
        path.push('=');
        path.push_str(&encode_grammar(&filled));
    }
    path
}

/// Returns whether the rows of a response depend on how values compare, which generated ones do differently.
pub(super) fn compares_values(exchange: &Exchange) -> bool {
    parse_pairs(split_url(&exchange.path).query).iter().any(|(name, value)| {
        let name = last_segment(name);
        // Every condition of a group has an operator; that of a column can follow `not`.
        let words = if GROUP_PARAMETERS.contains(&name) { usize::MAX } else { 2 };
        let is_filter = !COLUMN_PARAMETERS.contains(&name) && !PAGE_PARAMETERS.contains(&name);
        is_filter && value.split(['(', ',', '.']).take(words).any(|word| COMPARISON_OPERATORS.contains(&word))
    })
}

/// Returns the columns that the rows of a response are sorted by.
pub(super) fn order(exchange: &Exchange) -> Vec<String> {
    let order = exchange.query("order").unwrap_or_default();
    let columns = order.split(',').map(|term| term.split('.').next().unwrap_or_default().to_owned());
    columns.filter(|column| !column.is_empty()).collect()
}

/// Percent-encodes what stands between placeholders, without the punctuation of filters.
fn encode_grammar(text: &str) -> String {
    let mut encoded = encode_outside_placeholders(text);
    for (code, plain) in [("%28", "("), ("%29", ")"), ("%2C", ","), ("%2A", "*"), ("%3A", ":"), ("%21", "!")] {
        encoded = encoded.replace(code, plain);
    }
    encoded
}

/// Returns the last part of a parameter's name, such as `order` of `comments.order`.
fn last_segment(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Returns whether a text has nothing but names and the punctuation of `select`.
///
/// An example is `id,author:users!inner(name),data->tags->>0`, where numbers are indices of JSON paths.
fn is_column_list(text: &str) -> bool {
    let is_kept = |token: &str| token.is_empty() || is_name(token);
    let arrows = text.replace("->>", ">").replace("->", ">");
    arrows.split('>').enumerate().all(|(at, part)| {
        let mut tokens = part.split(|each: char| ",():.!*\"".contains(each));
        let first = tokens.next().unwrap_or_default();
        let is_index = at > 0 && first.len() <= MAX_INDEX_DIGITS && first.bytes().all(|byte| byte.is_ascii_digit());
        (is_index || is_kept(first)) && tokens.all(is_kept)
    })
}

fn provided(session: &mut FlowSession, what: &str) -> String {
    let name = session.name("query");
    session.set(&name, json!({ "@provided": what }));
    format!("{{{{{name}}}}}")
}

fn parameter(session: &mut FlowSession, name: &str, value: &str) -> String {
    let last = last_segment(name);
    if COLUMN_PARAMETERS.contains(&last) {
        return if is_column_list(value) {
            value.to_owned()
        } else {
            provided(session, "a parameter with the names of columns")
        };
    }
    if PAGE_PARAMETERS.contains(&last) && is_page_number(value) {
        return value.to_owned();
    }
    if GROUP_PARAMETERS.contains(&last) {
        return group(session, value, 0);
    }
    filter(session, value, name)
}

fn is_page_number(value: &str) -> bool {
    value.len() <= MAX_PAGE_DIGITS && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Replaces the values of `(a.eq.1,or(b.eq.2,c.is.null))`.
fn group(session: &mut FlowSession, value: &str, depth: usize) -> String {
    let inner = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let Some(inner) = inner.filter(|_| depth < MAX_DEPTH) else { return filter(session, value, "or") };
    let conditions: Vec<String> = split_list(inner).into_iter().map(|each| condition(session, each, depth)).collect();
    format!("({})", conditions.join(","))
}

fn condition(session: &mut FlowSession, condition: &str, depth: usize) -> String {
    for start in ["and", "or", "not.and", "not.or"] {
        if let Some(rest) = condition.strip_prefix(start).filter(|rest| rest.starts_with('(')) {
            return format!("{start}{}", group(session, rest, depth + 1));
        }
    }
    match condition.split_once('.') {
        Some((column, rest)) if is_column_list(column) => format!("{column}.{}", filter(session, rest, column)),
        _ => operand(session, condition, "or"),
    }
}

/// Replaces the values of `eq.1`, of `not.in.(1,2)` or of a function's argument.
fn filter(session: &mut FlowSession, value: &str, column: &str) -> String {
    let (negation, rest) = value.strip_prefix("not.").map_or(("", value), |rest| ("not.", rest));
    let parsed = rest.split_once('.').and_then(|(operator, of)| Some((operator, operator_name(operator)?, of)));
    let Some((operator, name, of)) = parsed else { return list(session, value, column, operand) };
    let filled = match name {
        "is" if IS_VALUES.contains(&of) => of.to_owned(),
        "like" | "ilike" => list(session, of, column, pattern),
        _ => list(session, of, column, operand),
    };
    format!("{negation}{operator}.{filled}")
}

/// Returns the name of an operator, such as `like` of `like(any)` or `fts` of `fts(english)`.
fn operator_name(operator: &str) -> Option<&str> {
    let (name, modifier) = match operator.split_once('(') {
        Some((name, modifier)) => (name, Some(modifier.strip_suffix(')')?)),
        None => (operator, None),
    };
    let is_known = EQUALITY_OPERATORS.contains(&name) || COMPARISON_OPERATORS.contains(&name);
    (is_known && modifier.is_none_or(is_name)).then_some(name)
}

/// Replaces the values of `(a,b)` and `{a,b}`, or the one value.
fn list(session: &mut FlowSession, value: &str, column: &str, replace: ReplaceValue) -> String {
    for (open, close) in [('(', ')'), ('{', '}')] {
        let inner = value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        let is_json = value.contains("\":");
        let Some(inner) = inner.filter(|_| !is_json) else { continue };
        let items: Vec<String> = split_list(inner)
            .into_iter()
            .map(|item| match item.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                Some(quoted) => format!("\"{}\"", replace(session, quoted, column)),
                None => replace(session, item, column),
            })
            .collect();
        return format!("{open}{}{close}", items.join(","));
    }
    replace(session, value, column)
}

/// Replaces the parts of a pattern between its wildcards.
fn pattern(session: &mut FlowSession, value: &str, column: &str) -> String {
    let mut filled = String::new();
    for part in value.split_inclusive(['*', '%']) {
        let text = part.trim_end_matches(['*', '%']);
        filled.push_str(&operand(session, text, column));
        filled.push_str(&part[text.len()..]);
    }
    filled
}

/// Replaces one value: by the placeholder of a known text or number, or of a generated one of its kind.
fn operand(session: &mut FlowSession, recorded: &str, column: &str) -> String {
    if matches!(recorded, "" | "true" | "false" | "null") {
        return recorded.to_owned();
    }
    let parsed = serde_json::from_str::<Number>(recorded).ok();
    match parsed.filter(|_| session.known.find(recorded).is_none()) {
        Some(parsed) => number(session, &parsed).as_str().unwrap_or_default().to_owned(),
        None => text(session, recorded, column),
    }
}

/// Splits at commas outside of quotes and brackets.
fn split_list(text: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth, mut is_quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, each) in text.char_indices() {
        match each {
            '"' => is_quoted = !is_quoted,
            '(' | '{' if !is_quoted => depth += 1,
            ')' | '}' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if !is_quoted && depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items
}
