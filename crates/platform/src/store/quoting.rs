//! Quoting of names and texts in SQL that is not a constant.

/// Puts a name of a table, column or role into double quotes, for SQL.
pub fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Formats a text as an untyped string constant.
///
/// The declaration of a function then gives it its type: `json`, `jsonb` or `text`. A parameter cannot do that, because
/// its wire format depends on its type. Backslashes are escaped, which is correct with every value of
/// `standard_conforming_strings`.
pub fn quote_literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
