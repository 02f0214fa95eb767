//! Types of the database as types of JSON.

use serde_json::Value;

/// The members that have a value.
pub(super) fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let present = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect())
}

/// The type of JSON values of a type of the database; JSON has any.
pub(super) fn type_name(data_type: &str) -> Option<&'static str> {
    Some(match data_type {
        "boolean" => "boolean",
        "smallint" | "integer" | "bigint" => "integer",
        "numeric" | "real" | "double precision" => "number",
        "json" | "jsonb" => return None,
        other if other.ends_with("[]") => "array",
        _ => "string",
    })
}

pub(super) fn format_name(data_type: &str) -> &str {
    match data_type {
        "smallint" | "integer" => "int32",
        "bigint" => "int64",
        other => other,
    }
}

/// The elements of an array.
pub(super) fn items(data_type: &str) -> Option<Value> {
    let element = data_type.strip_suffix("[]")?;
    Some(object([("type", type_name(element).map(Value::from))]))
}

/// A default: of texts the literal or the expression, of other types what reads as JSON.
pub(super) fn read_default(data_type: &str, default: &str) -> Option<Value> {
    if type_name(data_type) != Some("string") {
        return serde_json::from_str(default).ok();
    }
    let literal = default.strip_suffix(data_type).and_then(|text| text.strip_suffix("::"));
    let text = literal.map_or(default, |text| text.trim_matches('\''));
    serde_json::from_str(&format!("\"{text}\"")).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_read_as_their_type() {
        let cases = [
            ("integer", "7", Some(json!(7))),
            ("boolean", "true", Some(json!(true))),
            ("integer", "nextval('a'::regclass)", None),
            ("text", "'untitled'::text", Some(json!("untitled"))),
            ("character varying", "'abc'::character varying", Some(json!("abc"))),
            ("timestamp with time zone", "now()", Some(json!("now()"))),
            ("text[]", "'{}'::text[]", None),
            ("text", "'a\"b'::text", None),
        ];
        for (data_type, default, expected) in cases {
            assert_eq!(read_default(data_type, default), expected, "{data_type} {default}");
        }
    }
}
