//! The plan of a request: names resolved against the schema cache.

pub mod call;
pub mod media;
pub mod mutate;
pub mod read;
pub mod relation;
pub mod resolve;

use crate::config::Config;
use crate::error::Error;
use crate::error::cache::suggest_table;
use crate::request::media_type::MediaType;
use crate::request::preferences::PreferHandling;
use crate::request::tree::{
    AggregateFunction, JoinType, JsonOperation, LogicOperator, Operation, OrderDirection, OrderNulls,
};
use crate::request::{Action, ApiRequest, InvokeMethod, Mutation, QualifiedName};
use crate::schema_cache::{Function, MediaHandler, Relationship, SchemaCache};
use call::CallPlan;
use mutate::MutatePlan;
use read::ReadNode;

use crate::request::range::RowRange;

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

/// A condition of `WHERE`.
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

/// What is run for a request, and how its result becomes the body.
#[derive(Debug, Clone)]
pub struct StatementPlan {
    /// What is done.
    pub kind: PlanKind,
    /// What is read of the result.
    pub read: ReadNode,
    /// What makes the body.
    pub handler: MediaHandler,
    /// The media type of the body.
    pub media_type: MediaType,
    /// The transaction may write.
    pub writes: bool,
}

/// What a statement does.
#[derive(Debug, Clone)]
pub enum PlanKind {
    /// Reads a relation.
    Read {
        relation: QualifiedName,
        /// HEAD
        headers_only: bool,
    },
    /// Writes a relation.
    Mutate {
        relation: QualifiedName,
        /// The write.
        mutation: Mutation,
        /// How.
        plan: Box<MutatePlan>,
    },
    /// Calls a function.
    Call {
        function: Box<Function>,
        method: InvokeMethod,
        /// How.
        plan: Box<CallPlan>,
    },
}

/// The plan of a request.
#[derive(Debug, Clone)]
pub enum Plan {
    Statement(Box<StatementPlan>),
    /// The description of a schema.
    Describe {
        schema: String,
        /// HEAD
        headers_only: bool,
    },
    /// OPTIONS of a relation.
    InspectRelation(QualifiedName),
    /// OPTIONS of a function: whether it is volatile.
    InspectFunction(bool),
    /// OPTIONS of the root.
    InspectSchema,
}

/// What is needed to resolve names.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub cache: &'a SchemaCache,
    /// The settings.
    pub config: &'a Config,
    pub request: &'a ApiRequest,
}

impl Plan {
    /// Plans a request.
    ///
    /// # Errors
    /// `PGRST1xx` and `PGRST2xx`
    pub fn build(context: Context<'_>) -> Result<Self, Error> {
        match &context.request.action {
            Action::ReadRelation { relation, headers_only } => plan_read(context, relation, *headers_only),
            Action::Mutate { relation, mutation } => plan_mutation(context, relation, *mutation),
            Action::Invoke { function, method } => {
                plan_call(context, function, *method).map(|plan| Self::Statement(Box::new(plan)))
            }
            Action::ReadSchema { schema, headers_only } => {
                let known = [MediaType::OpenApi, MediaType::Json, MediaType::Any];
                if !context.request.accept.iter().any(|wanted| known.contains(wanted)) {
                    return Err(media::unacceptable(&context.request.accept));
                }
                Ok(Self::Describe { schema: schema.clone(), headers_only: *headers_only })
            }
            Action::InspectRelation(relation) => Ok(Self::InspectRelation(relation.clone())),
            Action::InspectFunction(function) => {
                let plan = plan_call(context, function, InvokeMethod::Head)?;
                let PlanKind::Call { function, .. } = plan.kind else { return Err(Error::internal("not a call")) };
                Ok(Self::InspectFunction(function.is_volatile()))
            }
            Action::InspectSchema => Ok(Self::InspectSchema),
        }
    }
}

/// The error of a relation that the cache does not have.
pub fn find_table(cache: &SchemaCache, relation: &QualifiedName) -> Result<(), Error> {
    if cache.tables.contains_key(relation) {
        return Ok(());
    }
    let names = cache.table_names.get(&relation.schema);
    let hint = names.and_then(|names| suggest_table(&relation.schema, &relation.name, names));
    Err(Error::table_not_found(&relation.schema, &relation.name, hint))
}

fn plan_read(context: Context<'_>, relation: &QualifiedName, headers_only: bool) -> Result<Plan, Error> {
    find_table(context.cache, relation)?;
    let read = read::plan(context, relation)?;
    let (handler, media_type) = media::negotiate(context, relation, &read)?;
    context.request.preferences.check()?;
    let kind = PlanKind::Read { relation: relation.clone(), headers_only };
    Ok(Plan::Statement(Box::new(StatementPlan { kind, read, handler, media_type, writes: false })))
}

fn plan_mutation(context: Context<'_>, relation: &QualifiedName, mutation: Mutation) -> Result<Plan, Error> {
    find_table(context.cache, relation)?;
    let read = read::plan(context, relation)?;
    let plan = mutate::plan(context, relation, mutation, &read)?;
    context.request.preferences.check()?;
    let (handler, media_type) = media::negotiate(context, relation, &read)?;
    let kind = PlanKind::Mutate { relation: relation.clone(), mutation, plan: Box::new(plan) };
    Ok(Plan::Statement(Box::new(StatementPlan { kind, read, handler, media_type, writes: true })))
}

fn plan_call(context: Context<'_>, name: &QualifiedName, method: InvokeMethod) -> Result<StatementPlan, Error> {
    let request = context.request;
    let function = call::find_function(context, name, method)?;
    // The result of a function embeds as the relation whose rows it returns.
    let relation = QualifiedName {
        schema: function.schema.clone(),
        name: function.table_name().unwrap_or(&function.name).to_owned(),
    };
    let read = read::plan(context, &relation)?;
    let plan = call::plan(context, function, method, &read);
    let (handler, media_type) = media::negotiate(context, &relation, &read)?;
    request.preferences.check()?;
    let is_strict = request.preferences.handling == Some(PreferHandling::Strict);
    if is_strict && request.preferences.max_affected.is_some() && !function.returns_set {
        return Err(Error::max_affected_on_scalar_function());
    }
    let writes = method == InvokeMethod::Post && function.is_volatile();
    let kind = PlanKind::Call { function: Box::new(function.clone()), method, plan: Box::new(plan) };
    Ok(StatementPlan { kind, read, handler, media_type, writes })
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
