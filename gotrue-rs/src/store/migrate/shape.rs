//! The shape of schema `auth`: what statements of this server need of a database.
//!
//! A schema of a newer Supabase Auth is served if it has this shape, whatever else it has.

use std::collections::{BTreeMap, BTreeSet};

/// The columns, words of enums and unique keys that statements need; `structure::shape` compares it with them.
const NEEDED: &str = include_str!("../../../../sql/auth/shape.txt");

/// Reads a [`SchemaRow`] for each column, word of an enum and unique key of the schema `:namespace`.
pub const READ_SCHEMA: &str = include_str!("read_schema.sql");

/// A row of [`READ_SCHEMA`]: kind, owner, name, detail, and whether an insertion must give the column a value.
pub type SchemaRow = (String, String, String, String, bool);

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ColumnShape {
    type_name: String,
    /// Whether an insertion must give a value that is not NULL.
    is_demanded: bool,
}

/// The tables, words of enums and unique keys of a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaShape {
    tables: BTreeMap<String, BTreeMap<String, ColumnShape>>,
    /// Enum and word.
    words: BTreeSet<(String, String)>,
    /// Table, and key columns with the predicate of a partial index.
    keys: BTreeSet<(String, String)>,
}

impl SchemaShape {
    /// Builds the shape of the rows of [`READ_SCHEMA`].
    pub fn from_rows(rows: Vec<SchemaRow>) -> Self {
        let mut shape = Self::default();
        for (kind, owner, name, detail, is_demanded) in rows {
            match kind.as_str() {
                "column" => {
                    let column = ColumnShape { type_name: detail, is_demanded };
                    shape.tables.entry(owner).or_default().insert(name, column);
                }
                "enum" => {
                    shape.words.insert((owner, name));
                }
                _ => {
                    // Casts depend on the type of the column, a text in any case.
                    let condition = detail.replace("::text", "").replace("::character varying", "");
                    let predicate = if detail.is_empty() { String::new() } else { format!(" WHERE {condition}") };
                    shape.keys.insert((owner, format!("({name}){predicate}")));
                }
            }
        }
        shape
    }

    /// Returns what statements of this server need.
    pub fn needed() -> Self {
        Self::parse(NEEDED)
    }

    /// Parses lines as [`Self::format`] writes them.
    pub(super) fn parse(text: &str) -> Self {
        let mut shape = Self::default();
        for line in text.lines() {
            let Some((kind, rest)) = line.split_once(' ') else { continue };
            let Some((name, detail)) = rest.split_once(' ') else { continue };
            match (kind, name.split_once('.')) {
                ("column", Some((table, column))) => {
                    let type_name = detail.strip_suffix(" demanded").unwrap_or(detail);
                    let shown = ColumnShape { type_name: type_name.to_owned(), is_demanded: type_name != detail };
                    shape.tables.entry(table.to_owned()).or_default().insert(column.to_owned(), shown);
                }
                ("enum", _) => {
                    shape.words.insert((name.to_owned(), detail.to_owned()));
                }
                ("key", _) => {
                    shape.keys.insert((name.to_owned(), detail.to_owned()));
                }
                _ => {}
            }
        }
        shape
    }

    /// Formats the shape, a line for each column, word and key: the content of `sql/auth/shape.txt`.
    pub fn format(&self) -> String {
        let columns = self.tables.iter().flat_map(|(table, columns)| {
            columns.iter().map(move |(name, column)| {
                let end = if column.is_demanded { " demanded" } else { "" };
                format!("column {table}.{name} {}{end}\n", column.type_name)
            })
        });
        let words = self.words.iter().map(|(name, word)| format!("enum {name} {word}\n"));
        let keys = self.keys.iter().map(|(table, key)| format!("key {table} {key}\n"));
        columns.chain(words).chain(keys).collect()
    }

    /// Keeps the columns, words and keys that statements with these words need.
    ///
    /// A key of a kept table is needed: it keeps two requests from storing the same thing twice. That of random ids is
    /// not, so that a table may be partitioned (`docs/scaling.md`).
    #[must_use]
    pub fn retain_used(mut self, is_used: impl Fn(&str) -> bool) -> Self {
        self.tables.retain(|table, columns| {
            columns.retain(|column, _| is_used(column));
            is_used(table)
        });
        let types: BTreeSet<String> =
            self.tables.values().flat_map(BTreeMap::values).map(|column| column.type_name.clone()).collect();
        self.words.retain(|(name, _)| types.contains(name));
        self.keys.retain(|(table, key)| key != "(id)" && self.tables.contains_key(table));
        self
    }

    /// Leaves out a unique key.
    #[must_use]
    pub fn without_key(mut self, table: &str, key: &str) -> Self {
        self.keys.remove(&(table.to_owned(), key.to_owned()));
        self
    }

    /// Whether the schema has any table.
    pub fn has_tables(&self) -> bool {
        !self.tables.is_empty()
    }

    /// Whether the schema has the table.
    pub fn has_table(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether the enum has the word.
    pub fn has_word(&self, name: &str, word: &str) -> bool {
        self.words.contains(&(name.to_owned(), word.to_owned()))
    }

    /// Compares a schema with this shape, which it must have.
    pub fn find_misfits(&self, schema: &Self) -> ShapeMisfits {
        let mut misfits = ShapeMisfits::default();
        for (table, needed) in &self.tables {
            let Some(columns) = schema.tables.get(table) else {
                misfits.missing.push(format!("table {table}"));
                continue;
            };
            for (name, column) in needed {
                match columns.get(name) {
                    None => misfits.missing.push(format!("column {table}.{name}")),
                    Some(found) if !is_same_type(&found.type_name, &column.type_name) => misfits
                        .differing
                        .push(format!("column {table}.{name} is {} in place of {}", found.type_name, column.type_name)),
                    Some(_) => {}
                }
            }
            let is_new = |name: &str| needed.get(name).is_none_or(|known| !known.is_demanded);
            let demanded = columns.iter().filter(|(name, column)| column.is_demanded && is_new(name));
            misfits.demanded.extend(demanded.map(|(name, _)| format!("{table}.{name}")));
        }
        let words = self.words.difference(&schema.words).map(|(name, word)| format!("value {word} of {name}"));
        misfits.missing.extend(words);
        let has_table = |table: &str| schema.tables.contains_key(table);
        let keys = self.keys.difference(&schema.keys).filter(|(table, _)| has_table(table));
        misfits.missing.extend(keys.map(|(table, key)| format!("unique index on {table} {key}")));
        misfits
    }
}

/// Types whose values are read and written alike.
fn is_same_type(found: &str, needed: &str) -> bool {
    let family = |name: &str| if name == "character varying" { "text".to_owned() } else { name.to_owned() };
    family(found) == family(needed)
}

/// What keeps a schema from being served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShapeMisfits {
    /// Tables, columns, words of enums and unique indexes that it lacks.
    pub missing: Vec<String>,
    /// Columns of another type.
    pub differing: Vec<String>,
    /// Columns that must be given a value, which this server does not do: its insertions would fail.
    pub demanded: Vec<String>,
}

impl ShapeMisfits {
    /// Whether the schema can be served.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.differing.is_empty() && self.demanded.is_empty()
    }

    /// Describes each misfit; of many of one kind the first six and the last.
    pub fn describe(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if !self.missing.is_empty() {
            parts.push(format!("it lacks {}", join_shortened(&self.missing)));
        }
        if !self.differing.is_empty() {
            parts.push(join_shortened(&self.differing));
        }
        if !self.demanded.is_empty() {
            let columns = join_shortened(&self.demanded);
            parts.push(format!("new rows need a value that this server does not know in {columns}"));
        }
        parts
    }
}

/// Joins names; of more than eight, the first six and the last.
pub(super) fn join_shortened(names: &[String]) -> String {
    match names {
        [first @ .., last] if names.len() > 8 => format!("{}, … {last}", first[..6].join(", ")),
        all => all.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, owner: &str, name: &str, detail: &str, is_demanded: bool) -> SchemaRow {
        (kind.to_owned(), owner.to_owned(), name.to_owned(), detail.to_owned(), is_demanded)
    }

    fn rows() -> Vec<SchemaRow> {
        vec![
            row("column", "users", "id", "uuid", true),
            row("column", "users", "email", "character varying", false),
            row("enum", "aal_level", "aal1", "", false),
            row("key", "users", "email", "is_sso_user = false", false),
        ]
    }

    #[test]
    fn text_of_a_shape_is_read_back() {
        let shape = SchemaShape::from_rows(rows());
        assert_eq!(SchemaShape::parse(&shape.format()), shape);
        assert_eq!(SchemaShape::parse(NEEDED).format(), NEEDED);
    }

    #[test]
    fn additions_fit() {
        let mut newer = rows();
        newer[1].3 = "text".to_owned();
        newer.push(row("column", "users", "note", "text", false));
        newer.push(row("column", "scim_users", "id", "uuid", true));
        newer.push(row("enum", "aal_level", "aal4", "", false));
        newer.push(row("key", "scim_users", "id", "", false));
        let misfits = SchemaShape::from_rows(rows()).find_misfits(&SchemaShape::from_rows(newer));
        assert_eq!(misfits, ShapeMisfits::default());
    }

    #[test]
    fn each_misfit_is_described() {
        let schema = SchemaShape::from_rows(vec![
            row("column", "users", "id", "text", true),
            row("column", "users", "email", "text", true),
            row("column", "users", "tenant", "uuid", true),
        ]);
        assert_eq!(
            SchemaShape::from_rows(rows()).find_misfits(&schema).describe(),
            [
                "it lacks value aal1 of aal_level, unique index on users (email) WHERE is_sso_user = false",
                "column users.id is text in place of uuid",
                "new rows need a value that this server does not know in users.email, users.tenant",
            ]
        );
        assert_eq!(
            SchemaShape::from_rows(rows()).find_misfits(&SchemaShape::default()).describe(),
            ["it lacks table users, value aal1 of aal_level"]
        );
    }
}
