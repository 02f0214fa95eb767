//! Syntax tree of the query string.

use std::collections::{BTreeMap, BTreeSet};

use super::range::RowRange;

/// The names of the embeds from the root to the one that a parameter belongs to; empty for the root.
pub type EmbedPath = Vec<String>;

/// The query string.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueryParams {
    /// The parameters sorted by key and encoded anew, for `Content-Location`.
    pub canonical: String,
    /// Parameters without an operator: the arguments of a function called by GET, in the order sent.
    pub arguments: Vec<(String, String)>,
    /// `limit` and `offset` by dotted path, all under the key that ends in `limit`.
    pub ranges: BTreeMap<String, RowRange>,
    /// `order` of each level.
    pub orders: Vec<(EmbedPath, Vec<OrderTerm>)>,
    /// `and` and `or` of each level.
    pub logic: Vec<(EmbedPath, LogicTree)>,
    pub columns: Option<BTreeSet<String>>,
    /// `select`; `*` when it is absent. Empty means all columns too.
    pub select: Vec<SelectNode>,
    /// All filters, those of the root included.
    pub filters: Vec<(EmbedPath, Filter)>,
    /// The keys of all parameters that may be filters, operator or not (PUT compares them with the primary key).
    pub filter_fields: BTreeSet<String>,
    pub on_conflict: Option<Vec<String>>,
}

impl QueryParams {
    /// The filters on the root relation, which restrict UPDATE and DELETE.
    pub fn root_filters(&self) -> impl Iterator<Item = &Filter> {
        self.filters.iter().filter(|(path, _)| path.is_empty()).map(|(_, filter)| filter)
    }

    /// The filters on embeds.
    pub fn embed_filters(&self) -> impl Iterator<Item = &(EmbedPath, Filter)> {
        self.filters.iter().filter(|(path, _)| !path.is_empty())
    }
}

/// An item of `select` and, when it is a relation, what is selected inside its parentheses.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectNode {
    pub item: SelectItem,
    /// What is selected of the relation; empty for a field.
    pub children: Vec<SelectNode>,
}

/// What one part of `select` asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `alias:column->path::cast.aggregate()::aggregate_cast`
    Field {
        /// The column (`*` for all) and its JSON path.
        field: Field,
        /// The aggregate function. `count()` without a column is `count` of `*`.
        aggregate: Option<AggregateFunction>,
        /// The type that the aggregate is cast to: letters, digits, `_`, `$` and inner spaces only.
        aggregate_cast: Option<String>,
        /// The type that the field is cast to: letters, digits, `_`, `$` and inner spaces only.
        cast: Option<String>,
        /// The key in the answer.
        alias: Option<String>,
    },
    /// `alias:relation!hint!inner(…)`
    Relation {
        /// The name of a relation, constraint or column.
        relation: String,
        /// The key in the answer.
        alias: Option<String>,
        /// What tells relationships apart: a constraint, column or junction.
        hint: Option<String>,
        /// `!inner` or `!left`
        join: Option<JoinType>,
    },
    /// `...relation!hint!inner(…)`
    Spread {
        /// The name of a relation, constraint or column.
        relation: String,
        /// What tells relationships apart.
        hint: Option<String>,
        /// `!inner` or `!left`
        join: Option<JoinType>,
    },
}

/// `!inner` or `!left` of an embed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinType {
    /// Rows of the parent without a match are left out.
    Inner,
    /// Rows of the parent without a match stay.
    Left,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateFunction {
    Sum,
    Avg,
    Max,
    Min,
    Count,
}

/// A column with the path into its JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Field {
    /// The column; `*` for all of them.
    pub name: String,
    /// The path; empty for the column itself.
    pub path: Vec<JsonOperation>,
}

/// A step of a JSON path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JsonOperation {
    /// `->`: the value as JSON.
    Arrow(JsonOperand),
    /// `->>`: the value as text.
    DoubleArrow(JsonOperand),
}

impl JsonOperation {
    /// The key or index.
    pub fn operand(&self) -> &JsonOperand {
        match self {
            Self::Arrow(operand) | Self::DoubleArrow(operand) => operand,
        }
    }
}

/// The key or index of a step of a JSON path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JsonOperand {
    Key(String),
    /// An index as `+3` or `-1`, of any length: only digits follow the sign.
    Index(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm {
    /// The embed whose column orders the parent: `relation(column)`.
    pub relation: Option<String>,
    /// The column.
    pub field: Field,
    /// `asc` or `desc`
    pub direction: Option<OrderDirection>,
    /// `nullsfirst` or `nullslast`
    pub nulls: Option<OrderNulls>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderDirection {
    /// `asc`
    Ascending,
    /// `desc`
    Descending,
}

/// Where an order puts nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderNulls {
    /// `nullsfirst`
    First,
    /// `nullslast`
    Last,
}

/// `and` and `or` with their conditions.
#[derive(Debug, Clone, PartialEq)]
pub enum LogicTree {
    /// `not.and(…)`, `or(…)`
    Group {
        /// `not.`
        negated: bool,
        /// How the conditions are joined.
        operator: LogicOperator,
        /// At least one.
        conditions: Vec<LogicTree>,
    },
    Condition(Filter),
}

/// How conditions are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicOperator {
    And,
    Or,
}

/// A condition on a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The column, or the name of an embed (`is.null` only).
    pub field: Field,
    /// `not.`
    pub negated: bool,
    /// The operator and value.
    pub operation: Operation,
}

/// An operator with its value.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// An operator with one value.
    Simple(SimpleOperator, String),
    /// An operator that may be applied to any or all elements of an array literal.
    Quantifiable(QuantifiableOperator, Option<Quantifier>, String),
    /// `in.(…)`
    In(Vec<String>),
    Is(IsValue),
    /// `isdistinct.`
    IsDistinctFrom(String),
    /// Full-text search: operator, language (letters, digits, `_`, `$` and inner spaces only), query.
    FullText(FullTextOperator, Option<String>, String),
}

/// `(any)` or `(all)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    Any,
    All,
}

/// The value of `is.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsValue {
    Null,
    NotNull,
    True,
    False,
    Unknown,
}

/// An operator with one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimpleOperator {
    /// `neq`: `<>`
    NotEqual,
    /// `cs`: `@>`
    Contains,
    /// `cd`: `<@`
    Contained,
    /// `ov`: `&&`
    Overlap,
    /// `sl`: `<<`
    StrictlyLeft,
    /// `sr`: `>>`
    StrictlyRight,
    /// `nxr`: `&<`
    NotExtendsRight,
    /// `nxl`: `&>`
    NotExtendsLeft,
    /// `adj`: `-|-`
    Adjacent,
}

/// An operator that may be applied to any or all elements of an array literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantifiableOperator {
    /// `eq`: `=`
    Equal,
    /// `gte`: `>=`
    GreaterThanEqual,
    /// `gt`: `>`
    GreaterThan,
    /// `lte`: `<=`
    LessThanEqual,
    /// `lt`: `<`
    LessThan,
    /// `like`, with `*` for `%`
    Like,
    /// `ilike`, with `*` for `%`
    ILike,
    /// `match`: `~`
    Match,
    /// `imatch`: `~*`
    IMatch,
}

/// An operator of full-text search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullTextOperator {
    /// `fts`: `to_tsquery`
    Plain,
    /// `plfts`: `plainto_tsquery`
    PlainTo,
    /// `phfts`: `phraseto_tsquery`
    PhraseTo,
    /// `wfts`: `websearch_to_tsquery`
    WebSearch,
}
