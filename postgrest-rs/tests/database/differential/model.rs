//! Random schemas: tables with columns of all kinds, rows, and references between tables.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;

/// Names that need quoting in SQL or in URLs, and plain ones.
const NAMES: [&str; 14] = [
    "name",
    "Order",
    "select",
    "with space",
    "quo\"te",
    "dot.ted",
    "com,ma",
    "(paren)",
    "ünï",
    "colon:s",
    "or",
    "a-b",
    "limit",
    "$1",
];

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Text,
    Decimal,
    Truth,
    Document,
    Numbers,
    Day,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::Integer, Self::Text, Self::Decimal, Self::Truth, Self::Document, Self::Numbers, Self::Day];

    fn sql(self) -> &'static str {
        match self {
            Self::Integer => "int",
            Self::Text => "text",
            Self::Decimal => "numeric(8,2)",
            Self::Truth => "boolean",
            Self::Document => "jsonb",
            Self::Numbers => "int[]",
            Self::Day => "date",
        }
    }

    /// The value with this number as PostgreSQL reads it.
    pub(super) fn value(self, number: u8) -> String {
        let at = usize::from(number);
        match self {
            Self::Integer => (i32::from(number % 9) - 3).to_string(),
            Self::Text => TEXTS[at % TEXTS.len()].to_owned(),
            Self::Decimal => format!("{}.{}", i32::from(number % 7) - 2, number % 4 * 25),
            Self::Truth => number.is_multiple_of(2).to_string(),
            Self::Document => DOCUMENTS[at % DOCUMENTS.len()].to_owned(),
            Self::Numbers => ["{}", "{1,2}", "{2}", "{-1,NULL,3}", "{2,1}"][at % 5].to_owned(),
            Self::Day => format!("20{:02}-0{}-1{}", number % 3 + 20, number % 9 + 1, number % 7),
        }
    }
}

/// Texts that are something else in SQL, in URLs or in the grammar.
const TEXTS: [&str; 16] = [
    "",
    "a",
    "Abc",
    "a*b",
    "100%",
    "under_score",
    "it's",
    "\"quoted\"",
    "back\\slash",
    "com,ma",
    "(paren)",
    "null",
    "a.eq.b",
    "ünïcode ✓",
    "{1,2}",
    "'; DROP TABLE t0; --",
];

const DOCUMENTS: [&str; 7] = [
    "{}",
    "{\"a\": 1}",
    "{\"a\": {\"b\": \"x\"}, \"c\": [1, {\"d\": null}]}",
    "{\"a\": \"text\", \"it's\": true}",
    "[1, 2, 3]",
    "\"alone\"",
    "{\"a\": null}",
];

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: String,
    /// Without `id` and `ref`.
    pub(super) columns: Vec<Column>,
    /// The table that `ref` refers to.
    pub(super) parent: Option<usize>,
    /// Values by column and the number of the row of the parent, for each row.
    rows: Vec<(Vec<Option<u8>>, Option<u8>)>,
}

#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) tables: Vec<Table>,
}

/// A name in quotation marks.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A literal of no type.
pub(super) fn literal(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

impl Table {
    /// A column: those of the table, then `id`.
    pub(super) fn column(&self, number: u8) -> Column {
        let at = usize::from(number) % (self.columns.len() + 1);
        self.columns.get(at).cloned().unwrap_or(Column { name: "id".to_owned(), kind: Kind::Integer })
    }
}

impl Schema {
    pub(super) fn table(&self, number: u8) -> usize {
        usize::from(number) % self.tables.len()
    }

    /// The tables that refer to a table.
    pub(super) fn children(&self, table: usize) -> Vec<usize> {
        (0..self.tables.len()).filter(|child| self.tables[*child].parent == Some(table)).collect()
    }

    pub(super) fn to_sql(&self) -> String {
        let mut sql = String::new();
        for table in &self.tables {
            let name = identifier(&table.name);
            write!(sql, "CREATE TABLE {name} (id int PRIMARY KEY").unwrap();
            for column in &table.columns {
                write!(sql, ", {} {}", identifier(&column.name), column.kind.sql()).unwrap();
            }
            if let Some(parent) = table.parent {
                write!(sql, ", ref int REFERENCES {}", identifier(&self.tables[parent].name)).unwrap();
            }
            sql.push_str(");\n");
            for (id, (values, parent)) in table.rows.iter().enumerate() {
                write!(sql, "INSERT INTO {name} VALUES ({id}").unwrap();
                for (column, value) in table.columns.iter().zip(values) {
                    let value = value.map_or("NULL".to_owned(), |value| literal(&column.kind.value(value)));
                    write!(sql, ", {value}").unwrap();
                }
                if let Some(of) = table.parent {
                    let rows = self.tables[of].rows.len();
                    let value = parent.filter(|_| rows > 0).map(|parent| usize::from(parent) % rows);
                    write!(sql, ", {}", value.map_or("NULL".to_owned(), |value| value.to_string())).unwrap();
                }
                sql.push_str(");\n");
            }
        }
        sql
    }
}

/// A table; numbers are reduced to what exists when they are used.
fn table() -> impl Strategy<Value = Table> {
    let columns = proptest::sample::subsequence(NAMES.to_vec(), 1..6).prop_flat_map(|names| {
        let count = names.len();
        (Just(names), vec(proptest::sample::select(Kind::ALL.to_vec()), count))
    });
    (columns, proptest::option::weighted(0.8, any::<u8>())).prop_flat_map(|((names, kinds), parent)| {
        let count = names.len();
        let names = names.into_iter().map(str::to_owned);
        let columns = names.zip(kinds).map(|(name, kind)| Column { name, kind }).collect();
        let table = Table { name: String::new(), columns, parent: parent.map(usize::from), rows: Vec::new() };
        let value = proptest::option::weighted(0.8, any::<u8>());
        let rows = vec((vec(value.clone(), count), value), 0..8);
        (Just(table), rows).prop_map(|(table, rows)| Table { rows, ..table })
    })
}

pub(super) fn schema() -> impl Strategy<Value = Schema> {
    let names = proptest::sample::subsequence(vec!["t0", "Table one", "t\"2", "t.3", "tëst"], 4);
    (vec(table(), 2..5), names).prop_map(|(mut tables, names)| {
        for (at, table) in tables.iter_mut().enumerate() {
            names[at].clone_into(&mut table.name);
            table.parent = table.parent.filter(|_| at > 0).map(|parent| parent % at.max(1));
        }
        Schema { tables }
    })
}
