//! The query string.

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::percent_decode;

use super::grammar;
use super::parsec::{Input, Parsed, parse};
use super::range::RowRange;
use super::tree::{EmbedPath, Field, Filter, QueryParams, SelectItem, SelectNode};
use crate::error::Error;

/// The most embeds of a request. PostgreSQL plans each as a join.
const MAXIMUM_EMBEDS: usize = 256;

/// The most items of a list of columns. PostgreSQL has at most 1,664 in a result, those that join embeds included.
const MAXIMUM_COLUMNS: usize = 1600;

/// A parameter: its key and, where there is a `=`, its value.
type Pair = (String, Option<String>);

impl QueryParams {
    /// Parses a query string. Parameters of a function that is called by GET need no operator.
    ///
    /// # Errors
    /// `PGRST100`
    pub fn parse(query: &str, is_function_read: bool) -> Result<Self, Error> {
        let pairs = split(query)?;
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let ending_in = |words: &'static [&'static str]| {
            pairs.iter().filter_map(move |(key, value)| {
                let value = value.as_deref()?;
                words.contains(&last(key).as_str()).then_some((key.as_str(), value))
            })
        };
        let find = |name: &str| pairs.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.as_deref());

        let orders = ending_in(&["order"]).map(|(key, value)| parse_order(key, value)).collect::<Result<_, _>>()?;
        let logic = ending_in(&["and", "or"]).map(|(key, value)| parse_logic(key, value)).collect::<Result<_, _>>()?;
        let columns =
            find("columns").map(|value| parse_value("columns parameter", value, grammar::columns)).transpose()?;
        let select = match find("select") {
            Some(value) => parse_select(value)?,
            None => vec![all_columns()],
        };
        let mut filters = Vec::new();
        let mut arguments = Vec::new();
        let mut filter_fields = std::collections::BTreeSet::new();
        for (key, value) in &pairs {
            let Some(value) = value.as_deref() else { continue };
            let is_reserved = matches!(key.as_str(), "select" | "columns" | "on_conflict")
                || matches!(last(key).as_str(), "order" | "limit" | "offset" | "and" | "or");
            if is_reserved {
                continue;
            }
            filter_fields.insert(key.clone());
            let (path, field) = parse_value("tree path", key, grammar::tree_path)?;
            match parse_filter(value, is_function_read)? {
                Some((negated, operation)) => filters.push((path, Filter { field, negated, operation })),
                None => arguments.push((field.name, value.to_owned())),
            }
        }
        let on_conflict = find("on_conflict")
            .map(|value| parse_value("on_conflict parameter", value, grammar::columns))
            .transpose()?;
        let ranges = ranges(ending_in(&["limit"]), ending_in(&["offset"]));
        Ok(Self {
            canonical: canonical(&pairs),
            arguments,
            ranges,
            orders,
            logic,
            columns: columns.map(|columns| columns.into_iter().collect()),
            select,
            filters,
            filter_fields,
            on_conflict,
        })
    }
}

fn parse_select(value: &str) -> Result<Vec<SelectNode>, Error> {
    fn count(nodes: &[SelectNode]) -> usize {
        let embeds = nodes.iter().filter(|node| !matches!(node.item, SelectItem::Field { .. }));
        embeds.map(|node| 1 + count(&node.children)).sum()
    }
    fn widest(nodes: &[SelectNode]) -> usize {
        nodes.iter().map(|node| widest(&node.children)).max().unwrap_or(0).max(nodes.len())
    }
    let nodes = parse_value("select parameter", value, grammar::select)?;
    if widest(&nodes) > MAXIMUM_COLUMNS {
        let message = "failed to parse select parameter: too many columns";
        return Err(Error::query_parameter(message, format!("at most {MAXIMUM_COLUMNS} are allowed")));
    }
    if count(&nodes) > MAXIMUM_EMBEDS {
        let message = "failed to parse select parameter: too many embedded resources";
        return Err(Error::query_parameter(message, format!("at most {MAXIMUM_EMBEDS} are allowed")));
    }
    Ok(nodes)
}

/// `*`
fn all_columns() -> SelectNode {
    let field = Field { name: "*".to_owned(), path: Vec::new() };
    let item = SelectItem::Field { field, aggregate: None, aggregate_cast: None, cast: None, alias: None };
    SelectNode { item, children: Vec::new() }
}

/// Splits at `&` and `;`, and decodes `+` and percent signs once. After a separator at the end there is no pair.
fn split(query: &str) -> Result<Vec<Pair>, Error> {
    if query.is_empty() {
        return Ok(Vec::new());
    }
    let query = query.strip_suffix(['&', ';']).unwrap_or(query);
    query
        .split(['&', ';'])
        .map(|pair| {
            let (key, value) = match pair.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (pair, None),
            };
            Ok((decode(key)?, value.map(decode).transpose()?))
        })
        .collect()
}

/// A part of a query string or form without `+` and percent signs.
pub(super) fn decode(text: &str) -> Result<String, Error> {
    let spaced: Cow<'_, str> = if text.contains('+') { text.replace('+', " ").into() } else { text.into() };
    let decoded = percent_decode(spaced.as_bytes()).decode_utf8().map_err(|_| not_text(text))?;
    if decoded.contains('\0') {
        return Err(not_text(text));
    }
    Ok(decoded.into_owned())
}

/// The database stores neither other bytes than UTF-8 nor NUL.
fn not_text(text: &str) -> Error {
    Error::query_parameter(format!("\"failed to decode ({text})\""), "expecting UTF-8 without NUL")
}

/// The parameters sorted by key and encoded anew; values of one key are joined by commas.
fn canonical(pairs: &[Pair]) -> String {
    let mut by_key: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in pairs {
        by_key.entry(key).or_default().push(value.as_deref().unwrap_or_default());
    }
    let encoded = by_key.into_iter().map(|(key, values)| {
        let values: Vec<_> = values.into_iter().map(encode).collect();
        format!("{}={}", encode(key), values.join(","))
    });
    encoded.collect::<Vec<_>>().join("&")
}

/// Letters, digits and `-_.~` as they are, other bytes as percent signs; the bytes of letters beyond ASCII are encoded twice, as
/// if they were Latin-1.
fn encode(text: &str) -> String {
    use std::fmt::Write;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
            continue;
        }
        for byte in char::from(byte).encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// An integer as Haskell reads it; numbers beyond 64 bits are the largest or smallest.
fn integer(text: &str) -> Option<i64> {
    let mut text = text.trim();
    while let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        text = inner.trim();
    }
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits.trim_start()),
        None => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Half of the largest number: sums of a limit and an offset stay in range.
    let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(i64::MAX / 2);
    Some(if is_negative { -size } else { size })
}

/// `limit` and `offset` by path. The last of a key counts. A limit that is no number is none, but 0 beside an offset.
fn ranges<'a>(
    limits: impl Iterator<Item = (&'a str, &'a str)>,
    offsets: impl Iterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<String, RowRange> {
    let mut ranges = BTreeMap::new();
    for (key, value) in limits {
        ranges.insert(key.to_owned(), RowRange::ALL.restrict(integer(value)));
    }
    let offsets: BTreeMap<String, i64> = offsets
        .map(|(key, value)| {
            let path = key.strip_suffix("offset").unwrap_or(key);
            (format!("{path}limit"), integer(value).unwrap_or(0))
        })
        .collect();
    for (key, first) in offsets {
        let limit = ranges.get(&key).map(|limited| limited.limit().unwrap_or(0));
        let last = limit.map(|limit| first.saturating_add(limit).saturating_sub(1));
        ranges.insert(key, RowRange { first, last });
    }
    ranges
}

/// Parses a value; the error names what it is.
fn parse_value<'a, T>(kind: &str, value: &'a str, parser: impl Fn(&mut Input<'a>) -> Parsed<T>) -> Result<T, Error> {
    parse_shown(kind, value, value, parser)
}

/// Parses a value; the error shows another text.
fn parse_shown<'a, T>(
    kind: &str,
    shown: &str,
    value: &'a str,
    parser: impl Fn(&mut Input<'a>) -> Parsed<T>,
) -> Result<T, Error> {
    parse(value, parser).map_err(|(place, details)| {
        Error::query_parameter(format!("\"failed to parse {kind} ({shown})\" {place}"), details)
    })
}

/// A filter's value; without an operator nothing, where that is allowed.
fn parse_filter(value: &str, is_function_read: bool) -> Result<Option<(bool, super::tree::Operation)>, Error> {
    if is_function_read {
        parse_value("filter", value, grammar::filter_or_argument)
    } else {
        parse_value("filter", value, |input| grammar::filter(input).map(Some))
    }
}

fn parse_order(key: &str, value: &str) -> Result<(EmbedPath, Vec<super::tree::OrderTerm>), Error> {
    let (path, _) = parse_value("tree path", key, grammar::tree_path)?;
    Ok((path, parse_value("order", value, grammar::order)?))
}

fn parse_logic(key: &str, value: &str) -> Result<(EmbedPath, super::tree::LogicTree), Error> {
    let (path, operator) = parse_value("logic path", key, grammar::logic_path)?;
    let text = format!("{operator}{value}");
    // The parser borrows the text, so the tree is made of owned values.
    let tree = parse_shown("logic tree", value, &text, grammar::logic_tree)?;
    Ok((path, tree))
}

/// The embed path of a key of [`QueryParams::ranges`].
pub fn range_path(key: &str) -> Result<EmbedPath, Error> {
    Ok(parse_value("tree path", key, grammar::tree_path)?.0)
}
