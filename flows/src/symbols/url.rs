//! URLs as base, query and fragment, each value with its symbols.

use serde_json::{Map, Value};

use super::Symbols;
use crate::text::{parse_pairs, split_url};

pub(super) fn format_url(symbols: &mut Symbols, text: &str, now: f64) -> Value {
    let parts = split_url(text);
    let mut shown = Map::new();
    shown.insert("base".to_owned(), symbols.text(parts.base).into());
    for (name, raw) in [("query", parts.query), ("fragment", parts.fragment)] {
        if raw.is_empty() {
            continue;
        }
        let mut pairs = parse_pairs(raw);
        let value = if pairs.is_empty() {
            symbols.text(raw).into()
        } else {
            pairs.sort();
            let each = pairs.into_iter().map(|(name, value)| {
                let shown = symbols.value(&Value::String(value), &name, now);
                (name, shown)
            });
            Value::Object(each.collect())
        };
        shown.insert(name.to_owned(), value);
    }
    Value::Object(shown)
}
