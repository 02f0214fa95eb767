//! A planned request: its transaction and its response.

use std::sync::{Arc, OnceLock};

use super::dependencies::Dependencies;
use super::explanation::Explanation;
use crate::config::{Config, OpenApiMode};
use crate::error::Error;
use crate::execute::flight::{End, Flight, FlightResults};
use crate::execute::pool::{Lease, Pool};
use crate::execute::spool::Spool;
use crate::execute::{flight, statement_error};
use crate::jwt::Identity;
use crate::plan::{Plan, PlanKind, StatementPlan};
use crate::request::media_type::MediaType;
use crate::request::preferences::{PreferCount, PreferHandling, PreferTransaction};
use crate::request::{ApiRequest, Mutation};
use crate::response;
use crate::response::openapi::Description;
use crate::response::{Abilities, Reply, ResultSet};
use crate::schema_cache::SchemaCache;
use crate::sql;
use crate::sql::Sql;
use crate::sql::settings::RoleSettings;

/// A request that is planned.
pub(super) struct Call<'a> {
    pub(super) pool: &'a Arc<Pool>,
    pub(super) dependencies: &'a Dependencies,
    pub(super) config: &'a Config,
    /// The settings of roles in the database.
    pub(super) roles: &'a RoleSettings,
    pub(super) cache: &'a SchemaCache,
    pub(super) identity: &'a Identity,
    pub(super) request: &'a ApiRequest,
    pub(super) plan: &'a Plan,
    /// Why the response is empty or refused, where it is explained.
    pub(super) explanation: &'a OnceLock<Explanation>,
    /// The statements, where they are logged.
    pub(super) statements: &'a OnceLock<Vec<String>>,
}

impl Call<'_> {
    pub(super) async fn run(&self) -> Result<Reply, Error> {
        match self.plan {
            Plan::Statement(statement) => self.run_statement(statement).await,
            Plan::Describe { schema, headers_only } => self.describe(schema, *headers_only).await,
            Plan::InspectRelation(relation) => {
                crate::plan::find_table(self.cache, relation)?;
                let table = self.cache.tables.get(relation).ok_or_else(|| Error::internal("the table was there"))?;
                Ok(response::inspect_relation(Abilities {
                    inserts: table.insertable,
                    updates: table.updatable,
                    deletes: table.deletable,
                    has_key: !table.key.is_empty(),
                }))
            }
            Plan::InspectFunction(is_volatile) => Ok(response::inspect_function(*is_volatile)),
            Plan::InspectSchema => Ok(response::inspect_schema()),
        }
    }

    /// Whether the role is another one than that of requests without a token.
    pub(super) fn is_authenticated(&self) -> bool {
        self.config.db_anon_role.as_ref() != Some(&self.identity.role)
    }

    /// How a transaction ends that succeeded.
    fn end(&self) -> End {
        let wanted = self.request.preferences.transaction;
        let rolls_back = match wanted {
            Some(PreferTransaction::Commit) => false,
            Some(PreferTransaction::Rollback) => true,
            None => self.config.db_tx_end.rolls_back,
        };
        if rolls_back { End::Rollback } else { End::Commit }
    }

    /// `BEGIN` with the isolation of the function or the role.
    fn begin(&self, writes: bool) -> String {
        let of_function = match self.plan {
            Plan::Statement(statement) => match &statement.kind {
                PlanKind::Call { function, .. } => function.isolation.as_deref(),
                _ => None,
            },
            _ => None,
        };
        let isolation = of_function.or_else(|| self.roles.isolation.get(&self.identity.role).map(String::as_str));
        let isolation = match isolation.map(str::to_lowercase).as_deref() {
            Some("repeatable read") => "REPEATABLE READ",
            Some("serializable") => "SERIALIZABLE",
            _ => "READ COMMITTED",
        };
        format!("BEGIN ISOLATION LEVEL {isolation} {}", if writes { "READ WRITE" } else { "READ ONLY" })
    }

    fn flight(&self, writes: bool, statements: Vec<Sql>, end: End) -> Flight {
        let config = self.config;
        Flight {
            begin: self.begin(writes),
            settings: sql::settings::build(config, self.roles, self.identity, self.request, self.plan),
            pre_request: config.db_pre_request.as_ref().map(sql::settings::pre_request),
            statements,
            end,
        }
    }

    async fn run_statement(&self, plan: &StatementPlan) -> Result<Reply, Error> {
        let config = self.config;
        let mut statements = vec![sql::statement::build(plan, self.request, config.db_max_rows)];
        statements.extend(sql::statement::build_estimate(plan, self.request));
        let end = self.end();
        // A read ends alike whatever it answers; of a write the result decides.
        let later = plan.writes && self.may_roll_back(plan);
        let flight = self.flight(plan.writes, statements, if later { End::Later } else { end });
        self.apply_fault(plan.writes).await?;
        let (lease, outcome) = self.run_flight(&flight, plan.writes).await?;
        let (results, spooled) = match outcome {
            Ok(results) => results,
            Err(error) => {
                lease.give_back();
                self.explain_refusal(plan, &error).await;
                return Err(error);
            }
        };
        if let MediaType::Plan { .. } = plan.media_type {
            self.finish(lease, later, end).await?;
            let body = flight::read_plan(results.first().map_or(&[], Vec::as_slice))?;
            return Ok(response::plan(self.request, &plan.media_type, body));
        }
        let read = self.read_result(plan, &results, spooled);
        let rows = read.as_ref().ok().map(|result| result.rows);
        let checked = read.and_then(|result| self.check(plan, &result).map(|()| result));
        let end = if checked.is_ok() { end } else { End::Rollback };
        let finished = self.finish(lease, later, end).await;
        if rows == Some(0) {
            self.explain_no_rows(plan).await;
        }
        let result = checked?;
        finished?;
        self.respond(plan, &result)
    }

    /// Waits or fails as the faults of a test say.
    async fn apply_fault(&self, writes: bool) -> Result<(), Error> {
        let faults = self.dependencies.faults.as_ref();
        let Some(fault) = faults.and_then(|faults| faults.fault_of(writes)) else { return Ok(()) };
        if !fault.delay.is_zero() {
            tokio::time::sleep(fault.delay).await;
        }
        fault.failure.map_or(Ok(()), |failure| Err(failure.error(self.is_authenticated())))
    }

    /// Runs a transaction on a connection of the pool. One that only reads runs once more when its connection was lost: after a
    /// restart of the database no idle connection is usable.
    async fn run_flight(&self, flight: &Flight, writes: bool) -> Result<(Lease, Result<FlightResults, Error>), Error> {
        if self.config.log_query {
            let _ = self.statements.set(flight.texts());
        }
        let lease = self.pool.acquire().await?;
        let outcome = flight.run(lease.connection()?, self.is_authenticated()).await;
        if !outcome.as_ref().is_err_and(Error::is_lost_connection) {
            return Ok((lease, outcome));
        }
        self.pool.renew();
        if writes {
            // It may have been committed.
            return Ok((lease, outcome));
        }
        drop(lease);
        let lease = self.pool.acquire().await?;
        let outcome = flight.run(lease.connection()?, self.is_authenticated()).await;
        Ok((lease, outcome))
    }

    /// Ends the transaction where the flight did not, and gives the connection back.
    async fn finish(&self, lease: Lease, later: bool, end: End) -> Result<(), Error> {
        let ended = if later { flight::end(lease.connection()?.client(), end).await } else { Ok(()) };
        let ended = ended.map_err(|error| statement_error(&error, self.is_authenticated()));
        lease.give_back();
        ended
    }

    fn read_result(
        &self,
        plan: &StatementPlan,
        results: &[Vec<tokio_postgres::Row>],
        spooled: Option<Spool>,
    ) -> Result<ResultSet, Error> {
        let Some(row) = results.first().and_then(|rows| rows.first()) else {
            let total = matches!(plan.kind, PlanKind::Call { .. }).then_some(0);
            return Ok(ResultSet { total, ..ResultSet::default() });
        };
        let mut result = flight::read_row(row, spooled)?;
        let estimate = results.get(1).and_then(|rows| flight::read_estimate(rows));
        let maximum = self.config.db_max_rows;
        match self.request.preferences.count {
            Some(PreferCount::Planned) if matches!(plan.kind, PlanKind::Read { .. }) => result.total = estimate,
            Some(PreferCount::Estimated) if matches!(plan.kind, PlanKind::Read { .. }) && result.total > maximum => {
                result.total = result.total.max(estimate);
            }
            _ => {}
        }
        Ok(result)
    }

    fn is_singular(plan: &StatementPlan) -> bool {
        matches!(plan.media_type, MediaType::Object { .. })
    }

    /// The largest number of rows that may be hit.
    fn max_affected(&self, plan: &StatementPlan) -> Option<i64> {
        let preferences = &self.request.preferences;
        let is_limited = match &plan.kind {
            PlanKind::Mutate { mutation, .. } => matches!(mutation, Mutation::Update | Mutation::Delete),
            PlanKind::Call { .. } => true,
            PlanKind::Read { .. } => false,
        };
        preferences.max_affected.filter(|_| is_limited && preferences.handling == Some(PreferHandling::Strict))
    }

    /// Whether the result can undo the transaction.
    fn may_roll_back(&self, plan: &StatementPlan) -> bool {
        let is_put = matches!(plan.kind, PlanKind::Mutate { mutation: Mutation::SingleUpsert, .. });
        Self::is_singular(plan) || is_put || self.max_affected(plan).is_some()
    }

    /// Whether the number of rows is one that the request allows.
    fn check(&self, plan: &StatementPlan, result: &ResultSet) -> Result<(), Error> {
        if matches!(plan.kind, PlanKind::Mutate { mutation: Mutation::SingleUpsert, .. }) {
            return if result.rows == 1 { Ok(()) } else { Err(Error::put_key_mismatch()) };
        }
        if Self::is_singular(plan) && result.rows != 1 {
            return Err(Error::not_singular(result.rows));
        }
        match self.max_affected(plan) {
            Some(maximum) if result.rows > maximum => Err(Error::max_affected_exceeded(result.rows)),
            _ => Ok(()),
        }
    }

    fn respond(&self, plan: &StatementPlan, result: &ResultSet) -> Result<Reply, Error> {
        let media_type = &plan.media_type;
        match &plan.kind {
            PlanKind::Read { relation, headers_only } => {
                response::read(self.request, relation, *headers_only, media_type, result)
            }
            PlanKind::Mutate { relation, plan, .. } => {
                let has_target = plan.has_conflict_target(self.request.query.on_conflict.is_some());
                response::mutation(self.request, relation, media_type, has_target, result)
            }
            PlanKind::Call { function, method, .. } => {
                response::call(self.request, *method, function.returns_void(), media_type, result)
            }
        }
    }

    /// The description of the schema: of all of it, or as far as the role may use it.
    async fn describe(&self, schema: &str, headers_only: bool) -> Result<Reply, Error> {
        let config = self.config;
        let follows_privileges = config.openapi_mode == OpenApiMode::FollowPrivileges;
        let mut statements = vec![sql::describe::comment(schema)];
        if follows_privileges {
            statements.extend([sql::describe::usable_relations(schema), sql::describe::usable_functions(schema)]);
        }
        let (lease, outcome) = self.run_flight(&self.flight(false, statements, End::Commit), false).await?;
        lease.give_back();
        let usable = flight::read_usable(&outcome?.0)?;
        let mut tables: Vec<_> = self.cache.tables.values().filter(|table| table.schema == schema).collect();
        let mut functions: Vec<_> = match &usable.functions {
            Some(functions) => functions.values().flatten().collect(),
            None => self.cache.functions.values().flatten().filter(|function| function.schema == schema).collect(),
        };
        if let Some(names) = &usable.relations {
            tables.retain(|table| names.contains(&table.name));
        }
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        // Functions with the same name keep their order.
        functions.sort_by(|a, b| a.name.cmp(&b.name));
        let comment = usable.comment.as_deref();
        let description = Description { cache: self.cache, config, tables: &tables, functions: &functions, comment };
        Ok(response::description(self.request, headers_only, description.build()))
    }
}
