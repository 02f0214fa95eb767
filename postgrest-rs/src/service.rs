//! The API: from a request to a response.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response};
use tokio::sync::watch;

use crate::config::{Config, LogLevel, OpenApiMode, Sources};
use crate::error::Error;
use crate::execute::flight::{self, End, Flight};
use crate::execute::pool::{Lease, Pool, PoolLimits};
use crate::execute::{connect, error_chain, settings, statement_error};
use crate::jwt::{Identity, TokenCache, find_bearer};
use crate::plan::{Context, Plan, PlanKind, StatementPlan};
use crate::request::media_type::MediaType;
use crate::request::parse::RequestRules;
use crate::request::preferences::{PreferCount, PreferHandling, PreferTransaction};
use crate::request::{ApiRequest, Mutation};
use crate::response::openapi::Description;
use crate::response::{self, Abilities, Reply, ResultSet, cors};
use crate::schema_cache::SchemaCache;
use crate::sql::settings::RoleSettings;
use crate::sql::{self, Sql};

/// The longest target of a request, in bytes.
const MAXIMUM_TARGET: usize = 64 * 1024;

/// What the settings of a moment make: all of it is replaced together.
#[derive(Debug)]
struct State {
    config: Arc<Config>,
    roles: RoleSettings,
}

/// The longest that a request waits for the first load of the schema cache.
const FIRST_LOAD_WAIT: Duration = Duration::from_secs(10);

/// The schema cache, and why there is none.
#[derive(Debug, Clone)]
enum CacheState {
    /// It is loaded for the first time.
    Loading,
    /// The first load failed.
    Failed,
    /// It is there, and stays when a later load fails.
    Loaded(Arc<SchemaCache>),
}

/// The API over a database.
#[derive(Debug)]
pub struct DataApi {
    sources: RwLock<Sources>,
    state: RwLock<Arc<State>>,
    cache: watch::Sender<CacheState>,
    pool: Arc<Pool>,
    tokens: TokenCache,
    /// Only one reload runs at a time.
    reloading: tokio::sync::Mutex<()>,
}

/// The parts of the `Server-Timing` header, in the order in which they are written.
#[derive(Default)]
struct Timing {
    parts: Vec<(&'static str, Duration)>,
}

impl Timing {
    fn record(&mut self, name: &'static str, started: Instant) {
        self.parts.push((name, started.elapsed()));
    }

    fn header(&self) -> String {
        let parts: Vec<_> =
            self.parts.iter().map(|(name, time)| format!("{name};dur={:.1}", time.as_secs_f64() * 1000.0)).collect();
        parts.join(", ")
    }
}

impl DataApi {
    /// An API with the settings of these sources. The database is asked by [`Self::reload`].
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub fn new(sources: Sources) -> Result<Arc<Self>, String> {
        let config = Arc::new(Config::build(&sources)?);
        let limits = PoolLimits {
            size: config.db_pool,
            acquisition: config.db_pool_acquisition_timeout,
            idle: config.db_pool_max_idletime,
            lifetime: config.db_pool_max_lifetime,
            prepares: config.db_prepared_statements,
        };
        let pool = Pool::new(connect::parse(&config.db_uri)?, limits);
        Ok(Arc::new(Self {
            sources: RwLock::new(sources),
            state: RwLock::new(Arc::new(State { config, roles: RoleSettings::default() })),
            cache: watch::Sender::new(CacheState::Loading),
            pool,
            tokens: TokenCache::default(),
            reloading: tokio::sync::Mutex::new(()),
        }))
    }

    /// The settings of this moment.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.state().config)
    }

    /// Whether the schema cache was loaded once.
    pub fn is_ready(&self) -> bool {
        self.cache().is_some()
    }

    /// The pool of connections.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The schema cache, once it was loaded.
    pub fn cache(&self) -> Option<Arc<SchemaCache>> {
        match &*self.cache.borrow() {
            CacheState::Loaded(cache) => Some(Arc::clone(cache)),
            CacheState::Loading | CacheState::Failed => None,
        }
    }

    /// The schema cache; requests that arrive while it is loaded for the first time wait for it.
    async fn wait_for_cache(&self) -> Result<Arc<SchemaCache>, Error> {
        if let Some(cache) = self.cache() {
            return Ok(cache);
        }
        let mut states = self.cache.subscribe();
        let is_decided = |state: &CacheState| !matches!(state, CacheState::Loading);
        // After the time limit there is no cache, as after a failure.
        let _ = tokio::time::timeout(FIRST_LOAD_WAIT, states.wait_for(is_decided)).await;
        self.cache().ok_or_else(Error::no_schema_cache)
    }

    /// Lets requests fail that wait for the first load.
    fn record_failure(&self) {
        self.cache.send_if_modified(|state| {
            let is_first = matches!(state, CacheState::Loading);
            if is_first {
                *state = CacheState::Failed;
            }
            is_first
        });
    }

    /// Reads the settings anew, those of the database included. The sources stay as they are on failure.
    ///
    /// # Errors
    /// The database refused a query, or a setting cannot be used.
    pub async fn reload_config(&self, file: Option<Sources>) -> Result<(), String> {
        self.read_config(file).await.inspect_err(|_| self.record_failure())
    }

    async fn read_config(&self, file: Option<Sources>) -> Result<(), String> {
        let mut sources = file.unwrap_or_else(|| self.sources.read().unwrap_or_else(PoisonError::into_inner).clone());
        let config = Config::build(&sources)?;
        let mut roles = RoleSettings::default();
        if config.db_config {
            let client = self.pool.connect().await.map_err(|error| error_chain(&error))?;
            let read = settings::read_settings(&client, config.db_pre_config.as_ref()).await;
            sources.database = read.map_err(|error| error_chain(error.as_ref()))?;
            roles = settings::read_role_settings(&client).await.map_err(|error| error_chain(error.as_ref()))?;
        }
        let config = Arc::new(Config::build(&sources)?);
        *self.sources.write().unwrap_or_else(PoisonError::into_inner) = sources;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(State { config, roles });
        Ok(())
    }

    /// Reads the schema cache anew. The former one stays on failure.
    ///
    /// # Errors
    /// The database refused a query.
    pub async fn reload_schema(&self) -> Result<(), String> {
        self.read_schema().await.inspect_err(|_| self.record_failure())
    }

    async fn read_schema(&self) -> Result<(), String> {
        let _guard = self.reloading.lock().await;
        let client = self.pool.connect().await.map_err(|error| error_chain(&error))?;
        let loaded = SchemaCache::load(&client, &self.config()).await;
        let loaded = loaded.map_err(|error| error_chain(error.as_ref()))?;
        self.cache.send_replace(CacheState::Loaded(Arc::new(loaded)));
        self.pool.prune();
        Ok(())
    }

    /// Answers a request. The path begins at the root of the API.
    pub async fn handle(&self, parts: &Parts, body: Bytes) -> Response<Bytes> {
        let state = self.state();
        let config = &state.config;
        let grant = cors::grant(&parts.headers, config.server_cors_allowed_origins.as_deref());
        let preflight = grant.as_ref().and_then(|grant| grant.preflight(&parts.method, &parts.headers));
        let mut response = if let Some(response) = preflight {
            response
        } else {
            let answered = self.answer(&state, parts, &body).await;
            let mut response = answered.unwrap_or_else(Error::into_reply).into_response();
            if let Some(grant) = &grant {
                grant.apply(response.headers_mut());
            }
            response
        };
        if response.status() == http::StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
        }
        if let Some(name) = &config.server_trace_header
            && let Ok(name) = http::HeaderName::from_bytes(name.as_bytes())
        {
            let value = parts.headers.get(&name).cloned().unwrap_or_else(|| HeaderValue::from_static(""));
            response.headers_mut().insert(name, value);
        }
        log(config.log_level, parts, &response);
        response
    }

    async fn answer(&self, state: &State, parts: &Parts, body: &Bytes) -> Result<Reply, Error> {
        let mut timing = Timing::default();
        let config = &state.config;
        let started = Instant::now();
        let header = parts.headers.get("authorization").map(|value| String::from_utf8_lossy(value.as_bytes()));
        let identity = self.tokens.authenticate(config, header.as_deref().and_then(find_bearer))?;
        timing.record("jwt", started);
        let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
        if target > MAXIMUM_TARGET {
            return Err(Error::new(414, "PGRST100", "The URL is too long"));
        }
        let cache = self.wait_for_cache().await?;
        let rules = RequestRules {
            schemas: &config.db_schemas,
            root_function: config.db_root_spec.as_ref(),
            describes_root: config.openapi_mode != OpenApiMode::Disabled,
            allows_transaction: config.db_tx_end.allows_override,
        };
        let started = Instant::now();
        let request = ApiRequest::parse(parts, body, &rules, |name| cache.timezones.contains(name))?;
        timing.record("parse", started);
        let started = Instant::now();
        let context = Context { cache: &cache, config, request: &request };
        let plan = Plan::build(context)?;
        timing.record("plan", started);
        let started = Instant::now();
        let call = Call { api: self, state, cache: &cache, identity: &identity, request: &request, plan: &plan };
        let mut reply = call.run().await?;
        timing.record("transaction", started);
        if config.server_timing_enabled {
            timing.record("response", Instant::now());
            reply.headers.push(("Server-Timing".to_owned(), timing.header()));
        }
        Ok(reply)
    }
}

/// Logs a request as the level demands.
fn log(level: LogLevel, parts: &Parts, response: &Response<Bytes>) {
    let status = response.status().as_u16();
    let is_logged = match level {
        LogLevel::Critical => false,
        LogLevel::Error => status >= 500,
        LogLevel::Warn => status >= 400,
        LogLevel::Info | LogLevel::Debug => true,
    };
    if is_logged {
        tracing::info!(method = %parts.method, path = parts.uri.path(), status, "request answered");
    }
}

/// A request that is planned.
struct Call<'a> {
    api: &'a DataApi,
    state: &'a State,
    cache: &'a SchemaCache,
    identity: &'a Identity,
    request: &'a ApiRequest,
    plan: &'a Plan,
}

impl Call<'_> {
    async fn run(&self) -> Result<Reply, Error> {
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
    fn is_authenticated(&self) -> bool {
        self.state.config.db_anon_role.as_ref() != Some(&self.identity.role)
    }

    /// How a transaction ends that succeeded.
    fn end(&self) -> End {
        let wanted = self.request.preferences.transaction;
        let rolls_back = match wanted {
            Some(PreferTransaction::Commit) => false,
            Some(PreferTransaction::Rollback) => true,
            None => self.state.config.db_tx_end.rolls_back,
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
        let isolation = of_function.or_else(|| self.state.roles.isolation.get(&self.identity.role).map(String::as_str));
        let isolation = match isolation.map(str::to_lowercase).as_deref() {
            Some("repeatable read") => "REPEATABLE READ",
            Some("serializable") => "SERIALIZABLE",
            _ => "READ COMMITTED",
        };
        format!("BEGIN ISOLATION LEVEL {isolation} {}", if writes { "READ WRITE" } else { "READ ONLY" })
    }

    fn flight(&self, writes: bool, statements: Vec<Sql>, end: End) -> Flight {
        let config = &self.state.config;
        Flight {
            begin: self.begin(writes),
            settings: sql::settings::build(config, &self.state.roles, self.identity, self.request, self.plan),
            pre_request: config.db_pre_request.as_ref().map(sql::settings::pre_request),
            statements,
            end,
        }
    }

    async fn run_statement(&self, plan: &StatementPlan) -> Result<Reply, Error> {
        let config = &self.state.config;
        let mut statements = vec![sql::statement::build(plan, self.request, config.db_max_rows)];
        statements.extend(sql::statement::build_estimate(plan, self.request));
        let end = self.end();
        // A read ends alike whatever it answers; of a write the result decides.
        let later = plan.writes && self.may_roll_back(plan);
        let flight = self.flight(plan.writes, statements, if later { End::Later } else { end });
        let lease = self.api.pool.acquire().await?;
        let outcome = flight.run(lease.connection()?, self.is_authenticated()).await;
        let results = match outcome {
            Ok(results) => results,
            Err(error) => {
                lease.give_back();
                return Err(error);
            }
        };
        if let MediaType::Plan { .. } = plan.media_type {
            self.finish(lease, later, end).await?;
            let body = flight::read_plan(results.first().map_or(&[], Vec::as_slice))?;
            return Ok(response::plan(self.request, &plan.media_type, body));
        }
        let read = self.read_result(plan, &results);
        let checked = read.and_then(|result| self.check(plan, &result).map(|()| result));
        let end = if checked.is_ok() { end } else { End::Rollback };
        let finished = self.finish(lease, later, end).await;
        let result = checked?;
        finished?;
        self.respond(plan, &result)
    }

    /// Ends the transaction where the flight did not, and gives the connection back.
    async fn finish(&self, lease: Lease, later: bool, end: End) -> Result<(), Error> {
        let ended = if later { flight::end(lease.connection()?.client(), end).await } else { Ok(()) };
        let ended = ended.map_err(|error| statement_error(&error, self.is_authenticated()));
        lease.give_back();
        ended
    }

    fn read_result(&self, plan: &StatementPlan, results: &[Vec<tokio_postgres::Row>]) -> Result<ResultSet, Error> {
        let Some(row) = results.first().and_then(|rows| rows.first()) else {
            let total = matches!(plan.kind, PlanKind::Call { .. }).then_some(0);
            return Ok(ResultSet { total, ..ResultSet::default() });
        };
        let mut result = flight::read_row(row)?;
        let estimate = results.get(1).and_then(|rows| flight::read_estimate(rows));
        let maximum = self.state.config.db_max_rows;
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
        let config = &self.state.config;
        let follows_privileges = config.openapi_mode == OpenApiMode::FollowPrivileges;
        let mut statements = vec![sql::describe::comment(schema)];
        if follows_privileges {
            statements.extend([sql::describe::usable_relations(schema), sql::describe::usable_functions(schema)]);
        }
        let lease = self.api.pool.acquire().await?;
        let outcome =
            self.flight(false, statements, End::Commit).run(lease.connection()?, self.is_authenticated()).await;
        lease.give_back();
        let usable = flight::read_usable(&outcome?)?;
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
