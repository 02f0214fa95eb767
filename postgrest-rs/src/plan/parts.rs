//! The parts of plans.

use crate::config::Config;
use crate::request::range::RowRange;
use crate::request::tree::{
    AggregateFunction, JoinType, JsonOperation, LogicOperator, Operation, OrderDirection, OrderNulls,
};
use crate::request::{ApiRequest, QualifiedName};
use crate::schema_cache::{Relationship, SchemaCache};

/// The name of the common table expression that holds what was read or written.
pub const SOURCE: &str = "pgrst_source";

/// A column, resolved as far as the cache knows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnRef {
    /// The name; `*` for all columns.
    pub name: String,
    /// The path into its JSON.
    pub path: Vec<JsonOperation>,
    /// The column is converted to `jsonb` before the path applies.
    pub to_json: bool,
    /// The column is converted to `tsvector`, in a language or the default one.
    pub to_tsvector: Option<Option<String>>,
    /// The type; empty for an unknown column.
    pub data_type: String,
    /// The function that converts the value.
    pub transform: Option<String>,
    /// The default as an expression.
    pub default: Option<String>,
    /// The whole row instead of a column.
    pub full_row: bool,
}

/// A column selected.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectField {
    pub column: ColumnRef,
    /// The aggregate function.
    pub aggregate: Option<AggregateFunction>,
    /// The type that the aggregate is cast to.
    pub aggregate_cast: Option<String>,
    /// The type that the column is cast to.
    pub cast: Option<String>,
    /// The name in the answer.
    pub alias: Option<String>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// `and` or `or` of conditions.
    Group {
        /// `not.`
        negated: bool,
        /// How they are joined.
        operator: LogicOperator,
        conditions: Vec<Condition>,
    },
    /// A condition on a column.
    Filter {
        column: ColumnRef,
        /// `not.`
        negated: bool,
        /// Operator and value.
        operation: Operation,
    },
    /// Whether an embed has rows: by its alias.
    NullEmbed {
        /// It has some.
        negated: bool,
        alias: String,
    },
}

/// A term of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderBy {
    /// The alias of the embed whose column it is.
    pub relation: Option<String>,
    pub column: ColumnRef,
    pub direction: Option<OrderDirection>,
    /// Where nulls are.
    pub nulls: Option<OrderNulls>,
}

/// Two columns that are equal: each with its relation.
pub type JoinCondition = ((QualifiedName, String), (QualifiedName, String));

/// How an embed appears in its parent.
#[derive(Debug, Clone, PartialEq)]
pub enum RelationSelect {
    /// As JSON.
    Embed {
        /// The name in the answer.
        name: String,
        /// The alias of the subquery.
        alias: String,
        /// An object or null, otherwise an array.
        is_object: bool,
        /// It selects nothing.
        is_empty: bool,
    },
    /// As columns.
    Spread {
        /// The columns.
        fields: Vec<SpreadField>,
        /// The alias of the subquery.
        alias: String,
    },
}

impl RelationSelect {
    /// The alias of the subquery.
    pub fn alias(&self) -> &str {
        match self {
            Self::Embed { alias, .. } | Self::Spread { alias, .. } => alias,
        }
    }
}

/// A column of a spread embed.
#[derive(Debug, Clone, PartialEq)]
pub struct SpreadField {
    /// Its name in the subquery.
    pub name: String,
    /// The aggregate function that its parent applies.
    pub aggregate: Option<AggregateFunction>,
    /// The type that the aggregate is cast to.
    pub aggregate_cast: Option<String>,
    /// The name in the answer.
    pub alias: Option<String>,
}

/// How a spread embed's rows appear.
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// One row as columns.
    ToOne,
    /// Each column as an array.
    ToMany {
        /// Columns selected for the order alone, with the alias of the embed that they come from.
        extra: Vec<(Option<String>, SelectField)>,
        /// The order of the arrays.
        order: Vec<OrderBy>,
    },
}

/// What is needed to resolve names.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub cache: &'a SchemaCache,
    /// The settings.
    pub config: &'a Config,
    pub request: &'a ApiRequest,
}

/// The join of an embed.
pub(crate) fn is_inner(join: Option<JoinType>) -> bool {
    join == Some(JoinType::Inner)
}

/// The range of all rows, for embeds without one.
pub(crate) const ALL_ROWS: RowRange = RowRange::ALL;

/// The relationship of an embed, and the alias by which a function of it names the origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub relationship: Relationship,
    /// What the origin is called in the statement.
    pub origin: QualifiedName,
}
