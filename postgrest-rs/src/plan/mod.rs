//! The plan of a request: names resolved against the schema cache.

pub mod call;
pub mod media;
pub mod mutate;
mod parts;
pub mod read;
pub mod relation;
pub mod resolve;

pub(crate) use self::parts::is_inner;
pub use self::parts::{
    ColumnRef, Condition, Context, JoinCondition, Link, OrderBy, RelationSelect, SOURCE, SelectField, Spread,
    SpreadField,
};
use crate::error::Error;
use crate::error::cache::suggest_table;
use crate::request::media_type::MediaType;
use crate::request::preferences::PreferHandling;
use crate::request::{Action, InvokeMethod, Mutation, QualifiedName};
use crate::schema_cache::{Function, MediaHandler, SchemaCache};
use call::CallPlan;
use mutate::MutatePlan;
use read::ReadNode;

/// The plan of a statement.
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
