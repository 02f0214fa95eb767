//! What the database holds, read once and replaced as a whole: relations, relationships, functions, media handlers.

pub mod load;
pub mod node_tree;
pub(crate) mod queries;
pub mod relationships;
mod timezones;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;

pub use self::timezones::Timezones;
use crate::error::fuzzy::FuzzySet;
use crate::request::QualifiedName;
use crate::request::media_type::MediaType;

/// The most relations of a schema for which similar names are searched.
const MAXIMUM_SEARCHED_TABLES: usize = 500;

/// What the database holds, as far as the exposed schemas reach.
#[derive(Debug, Clone, Default)]
pub struct SchemaCache {
    /// The tables and views of the exposed schemas.
    pub tables: HashMap<QualifiedName, Table>,
    /// The relationships of a relation, by the relation and the schema of their targets; sorted.
    pub relationships: HashMap<(QualifiedName, String), Vec<Relationship>>,
    /// The functions of the exposed schemas, those with fewer parameters first.
    pub functions: HashMap<QualifiedName, Vec<Function>>,
    /// The function that casts from one type to another, where one of both is a domain and the other `json` or `text`.
    pub representations: HashMap<(String, String), String>,
    /// What makes a media type of rows.
    pub handlers: HashMap<(HandlerTarget, MediaType), ResolvedHandler>,
    /// The names of time zones.
    pub timezones: Timezones,
    /// The names of the relations of each schema, save of very large ones.
    pub table_names: HashMap<String, FuzzySet>,
}

/// A table or view.
#[derive(Debug, Clone)]
pub struct Table {
    /// Schema and name.
    pub schema: String,
    pub name: String,
    /// The comment.
    pub description: Option<String>,
    /// A view or materialized view.
    pub is_view: bool,
    /// Rows can be inserted.
    pub insertable: bool,
    /// Rows can be updated.
    pub updatable: bool,
    /// Rows can be deleted.
    pub deletable: bool,
    /// The columns of the primary key.
    pub key: Vec<String>,
    /// The columns in their order.
    pub columns: Box<[Column]>,
}

impl Table {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| *column.name == *name)
    }
}

#[derive(Debug, Clone)]
pub struct Column {
    pub name: Arc<str>,
    /// The comment.
    pub description: Option<Box<str>>,
    /// Null is allowed.
    pub nullable: bool,
    /// The type; of a domain the type below it. Types of the system without modifiers.
    pub data_type: Arc<str>,
    /// The type with modifiers; a domain by its name.
    pub nominal_type: Arc<str>,
    /// The largest number of characters.
    pub max_length: Option<i32>,
    /// The default as an expression.
    pub default: Option<Box<str>>,
    /// The labels of an enumeration.
    pub labels: Box<[String]>,
}

/// How rows of two relations are related.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relationship {
    /// By foreign keys.
    Key(KeyRelationship),
    /// By a function from a row to rows.
    Computed(ComputedRelationship),
}

/// A relationship by foreign keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRelationship {
    /// The origin.
    pub table: QualifiedName,
    /// The target.
    pub foreign_table: QualifiedName,
    /// Origin and target are the same.
    pub is_self: bool,
    /// The cardinality with the columns.
    pub cardinality: Cardinality,
    /// The origin is a view.
    pub table_is_view: bool,
    /// The target is a view.
    pub foreign_table_is_view: bool,
}

/// A relationship by a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComputedRelationship {
    pub function: QualifiedName,
    /// The type of its parameter.
    pub table: QualifiedName,
    /// The type of its result.
    pub foreign_table: QualifiedName,
    /// It returns at most one row.
    pub to_one: bool,
    /// Parameter and result have the same type.
    pub is_self: bool,
}

/// How many rows are related, and by which columns: pairs of a column of the origin and one of the target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cardinality {
    /// The target references the origin.
    OneToMany(ForeignKey),
    /// The origin references the target.
    ManyToOne(ForeignKey),
    /// A reference whose columns are unique; the flag tells whether the origin is the referenced side.
    OneToOne(ForeignKey, bool),
    /// Both are referenced by a junction.
    ManyToMany(Junction),
}

/// A constraint and its columns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ForeignKey {
    /// The name of the constraint.
    pub constraint: String,
    /// Columns of the origin and of the target.
    pub columns: Vec<(String, String)>,
}

/// A table that references two others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Junction {
    pub table: QualifiedName,
    /// The constraint that references the origin.
    pub source_constraint: String,
    /// The constraint that references the target.
    pub target_constraint: String,
    /// Columns of the origin and of the junction.
    pub source_columns: Vec<(String, String)>,
    /// Columns of the target and of the junction.
    pub target_columns: Vec<(String, String)>,
}

impl Relationship {
    /// The origin.
    pub fn table(&self) -> &QualifiedName {
        match self {
            Self::Key(relationship) => &relationship.table,
            Self::Computed(relationship) => &relationship.table,
        }
    }

    /// The target.
    pub fn foreign_table(&self) -> &QualifiedName {
        match self {
            Self::Key(relationship) => &relationship.foreign_table,
            Self::Computed(relationship) => &relationship.foreign_table,
        }
    }

    /// At most one row is related.
    pub fn is_to_one(&self) -> bool {
        match self {
            Self::Key(relationship) => {
                matches!(relationship.cardinality, Cardinality::ManyToOne(_) | Cardinality::OneToOne(..))
            }
            Self::Computed(relationship) => relationship.to_one,
        }
    }
}

/// A function that requests can call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Function {
    pub schema: String,
    pub name: String,
    /// The comment.
    pub description: Option<String>,
    /// The parameters that take arguments.
    pub parameters: Vec<Parameter>,
    /// The schema of the type returned; of a domain that of the type below it.
    pub return_schema: String,
    /// The type returned; of a domain the type below it.
    pub return_type: String,
    /// It returns a set.
    pub returns_set: bool,
    /// It returns rows, or has output parameters.
    pub returns_composite: bool,
    /// `i`, `s` or `v`
    pub volatility: char,
    /// The last parameter takes any number of arguments.
    pub is_variadic: bool,
    /// The isolation level that it sets.
    pub isolation: Option<String>,
    /// The settings that count for the whole transaction.
    pub settings: Vec<(String, String)>,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Parameter {
    /// The name; empty for an unnamed one.
    pub name: String,
    pub data_type: String,
    /// The type without a largest length.
    pub wide_type: String,
    /// It has no default.
    pub required: bool,
    /// It takes any number of arguments.
    pub variadic: bool,
}

impl Function {
    /// It returns one value that is no row.
    pub fn returns_scalar(&self) -> bool {
        !self.returns_set && !self.returns_composite
    }

    /// It returns a set of values that are no rows.
    pub fn returns_set_of_scalar(&self) -> bool {
        self.returns_set && !self.returns_composite
    }

    /// It returns one row.
    pub fn returns_single_composite(&self) -> bool {
        !self.returns_set && self.returns_composite
    }

    /// It returns nothing.
    pub fn returns_void(&self) -> bool {
        self.returns_scalar() && self.return_schema == "pg_catalog" && self.return_type == "void"
    }

    /// The relation whose rows it returns.
    pub fn table_name(&self) -> Option<&str> {
        self.returns_composite.then_some(self.return_type.as_str())
    }

    /// It may write.
    pub fn is_volatile(&self) -> bool {
        self.volatility == 'v'
    }
}

/// The rows that a media handler takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HandlerTarget {
    /// Those of any relation.
    AnyElement,
    /// Those of a relation, or the result of a function.
    Relation(QualifiedName),
}

/// What makes a body of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaHandler {
    /// One object.
    SingleJson {
        /// Without null members.
        strip_nulls: bool,
    },
    /// An array without null members.
    StrippedArray,
    /// An array.
    Json,
    /// A feature collection.
    GeoJson,
    Csv,
    /// A function or aggregate of the database.
    Custom(QualifiedName, HandlerTarget),
    /// No body.
    Nothing,
}

/// What makes a body, and the media type that it has.
pub type ResolvedHandler = (MediaHandler, MediaType);

impl SchemaCache {
    /// The names of the schemas' relations that hints are made of.
    fn index_names(&mut self) {
        let mut by_schema: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for name in self.tables.keys() {
            by_schema.entry(&name.schema).or_default().push(&name.name);
        }
        let sets = by_schema.into_iter().filter(|(_, names)| names.len() < MAXIMUM_SEARCHED_TABLES).map(
            |(schema, mut names)| {
                names.sort_unstable();
                (schema.to_owned(), FuzzySet::new(names.into_iter()))
            },
        );
        self.table_names = sets.collect();
    }
}
