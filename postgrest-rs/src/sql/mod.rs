//! Statements: text with `$n` in place of every value, and the values.

pub mod describe;
mod fragment;
pub mod mutate;
pub mod read;
pub mod settings;
pub mod statement;

use bytes::{BufMut, Bytes, BytesMut};
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use crate::request::QualifiedName;

/// A value of a statement. Its type is the one that PostgreSQL infers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text in the input format of the type.
    Text(String),
    /// Bytes in the input format of the type.
    Bytes(Bytes),
    /// The bytes themselves, for `bytea`.
    Binary(Bytes),
    Null,
}

impl ToSql for Value {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Text(text) => out.put_slice(text.as_bytes()),
            Self::Bytes(bytes) | Self::Binary(bytes) => out.put_slice(bytes),
            Self::Null => return Ok(IsNull::Yes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        if matches!(self, Self::Binary(_)) { Format::Binary } else { Format::Text }
    }

    to_sql_checked!();
}

/// A statement, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sql {
    pub text: String,
    /// The values of `$1`, `$2`, …
    pub values: Vec<Value>,
}

impl Sql {
    /// Appends text of this crate or of the schema cache: never of the request.
    fn raw(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Appends a quoted identifier.
    fn name(&mut self, name: &str) -> &mut Self {
        push_identifier(&mut self.text, name);
        self
    }

    /// Appends a qualified name.
    fn qualified(&mut self, name: &QualifiedName) -> &mut Self {
        if !name.schema.is_empty() {
            self.name(&name.schema).raw(".");
        }
        self.name(&name.name)
    }

    /// Appends a column of a relation; `*` for all.
    fn column(&mut self, table: &QualifiedName, column: &str) -> &mut Self {
        self.qualified(table).raw(".");
        if column == "*" { self.raw("*") } else { self.name(column) }
    }

    /// Appends a value.
    fn value(&mut self, value: Value) -> &mut Self {
        use std::fmt::Write;
        self.values.push(value);
        // Writing to a string does not fail.
        let _ = write!(self.text, "${}", self.values.len());
        self
    }

    /// Appends a text value.
    fn text(&mut self, text: &str) -> &mut Self {
        self.value(Value::Text(text.to_owned()))
    }

    /// Appends a type that was cast to in the request: the grammar lets letters, digits, `_`, `$` and blanks pass.
    fn cast_type(&mut self, name: &str) -> &mut Self {
        let is_safe = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ' ');
        self.text.extend(name.chars().filter(|c| is_safe(*c)));
        self
    }

    /// Appends parts with a separator between them.
    fn join<T>(
        &mut self,
        parts: impl IntoIterator<Item = T>,
        separator: &str,
        mut append: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 {
                self.raw(separator);
            }
            append(self, part);
        }
        self
    }
}

/// An identifier in quotation marks. NUL cannot be in one; the parsers refuse it.
fn push_identifier(text: &mut String, name: &str) {
    text.push('"');
    for character in name.chars().filter(|character| *character != '\0') {
        if character == '"' {
            text.push('"');
        }
        text.push(character);
    }
    text.push('"');
}

/// Identifiers in quotation marks between commas, as `search_path` takes them.
pub fn identifier_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let quoted = names.map(|name| {
        let mut text = String::new();
        push_identifier(&mut text, name);
        text
    });
    quoted.collect::<Vec<_>>().join(", ")
}

/// A text of the catalogs as a literal.
fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
}

fn array_literal<'a>(elements: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<_> =
        elements.map(|element| format!("\"{}\"", element.replace('\\', "\\\\").replace('"', "\\\""))).collect();
    format!("{{{}}}", quoted.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_quoted() {
        let mut sql = Sql::default();
        let name = QualifiedName { schema: "a\"b".to_owned(), name: "c;--".to_owned() };
        sql.qualified(&name).raw(" = ").text("'; DROP TABLE x").raw("::").cast_type("int); DROP--");
        assert_eq!(sql.text, "\"a\"\"b\".\"c;--\" = $1::int DROP");
        assert_eq!(sql.values, [Value::Text("'; DROP TABLE x".to_owned())]);
        assert_eq!(array_literal(["a\"b", "c\\d", ""].into_iter()), r#"{"a\"b","c\\d",""}"#);
        assert_eq!(literal("a'b\\"), "E'a''b\\\\'");
    }

    proptest::proptest! {
        #[test]
        fn identifier_ends_where_its_text_ends(name in ".{0,20}") {
            let mut text = String::new();
            push_identifier(&mut text, &name);
            let inner = &text[1..text.len() - 1];
            proptest::prop_assert_eq!(inner.replace("\"\"", "").matches('"').count(), 0);
            proptest::prop_assert_eq!(inner.replace("\"\"", "\""), name.replace('\0', ""));
        }
    }
}
