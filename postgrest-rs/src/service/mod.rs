//! The API: from a request to a response.

mod cache;
mod call;
pub mod dependencies;
mod explain;
pub mod explanation;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore, watch};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use self::cache::LiveCache;
use self::call::Call;
use self::dependencies::{Dependencies, Presence, TokenIsApiKey, machine_time};
use self::explanation::Explanation;
use crate::config::{Config, LogLevel, OpenApiMode, Sources};
use crate::error::Error;
use crate::execute::connect::database_code;
use crate::execute::pool::{Pool, PoolLimits};
use crate::execute::{connect, error_chain, settings};
use crate::jwt::{TokenCache, TokenFigures, find_bearer};
use crate::plan::{Context, Plan};
use crate::request::ApiRequest;
use crate::request::parse::RequestRules;
use crate::response::{self, Reply, cors};
use crate::schema_cache::SchemaCache;
use crate::sql::settings::RoleSettings;

/// The longest target of a request, in bytes. The HTTP library refuses those above 64 KiB, without a body that says why.
const MAXIMUM_TARGET: usize = 63 * 1024;

/// The longest body that is read by the thread that answers the request, in bytes.
const SHORT_BODY: usize = 64 * 1024;

/// Longer bodies that are read at the same time.
static LONG_BODIES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(4)));

/// What the settings of a moment make: all of it is replaced together.
#[derive(Debug)]
struct State {
    config: Arc<Config>,
    roles: RoleSettings,
}

/// The API over a database.
#[derive(Debug)]
pub struct DataApi {
    sources: RwLock<Sources>,
    state: RwLock<Arc<State>>,
    cache: LiveCache,
    pool: Arc<Pool>,
    tokens: TokenCache,
    dependencies: Dependencies,
    /// Held while the API is connected of its own accord, and while it must not be.
    connected: Arc<Mutex<()>>,
    /// The number of those who want it to be disconnected.
    pauses: watch::Sender<usize>,
    /// Only one reload runs at a time. Holds when the last one began that succeeded.
    reloading: Mutex<Option<Instant>>,
    loads: SchemaLoads,
    /// Why the process must end, once it must.
    final_failure: watch::Sender<Option<String>>,
}

/// The loads of the schema cache so far.
#[derive(Debug, Default)]
pub(crate) struct SchemaLoads {
    pub(crate) succeeded: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Whether the last one failed.
    pub(crate) is_failing: AtomicBool,
    /// How long the queries of the last one took that succeeded, in microseconds.
    pub(crate) query_time: AtomicU64,
}

/// Keeps an API from connecting of its own accord until it is dropped.
#[derive(Debug)]
pub struct ApiPause {
    _counted: PauseCount,
    _connected: OwnedMutexGuard<()>,
}

/// Counts a pause until it is dropped.
#[derive(Debug)]
struct PauseCount(Arc<DataApi>);

impl Drop for PauseCount {
    fn drop(&mut self) {
        self.0.pauses.send_modify(|count| *count -= 1);
    }
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

/// What becomes known while a request is answered: why the response is empty or refused, and the statements that are logged.
type Found<'a> = (&'a OnceLock<Explanation>, &'a OnceLock<Vec<String>>);

/// Adds to the problems of other settings that the connection string is malformed.
fn add_address_problem(problems: String, sources: &Sources) -> String {
    match sources.database_uri().map(|uri| connect::parse(&uri)) {
        Ok(Err(problem)) => format!("{problems}\n{problem}"),
        _ => problems,
    }
}

impl DataApi {
    /// An API with the settings of these sources. The database is asked by [`Self::reload_config`] and [`Self::reload_schema`].
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub fn new(sources: Sources) -> Result<Arc<Self>, String> {
        Self::with_dependencies(sources, Dependencies::default())
    }

    /// The same with other dependencies than the usual ones.
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub fn with_dependencies(sources: Sources, dependencies: Dependencies) -> Result<Arc<Self>, String> {
        let built = Config::build(&sources).map_err(|problems| add_address_problem(problems, &sources));
        let config = Arc::new(built?);
        let limits = PoolLimits {
            size: config.db_pool,
            acquisition: config.db_pool_acquisition_timeout,
            idle: config.db_pool_max_idletime,
            lifetime: config.db_pool_max_lifetime,
        };
        let pool = Pool::new(connect::parse(&config.db_uri)?, limits, config.db_prepared_statements);
        Ok(Arc::new(Self {
            sources: RwLock::new(sources),
            state: RwLock::new(Arc::new(State { config, roles: RoleSettings::default() })),
            cache: LiveCache::default(),
            pool,
            tokens: TokenCache::default(),
            dependencies,
            connected: Arc::default(),
            pauses: watch::Sender::new(0),
            reloading: Mutex::default(),
            loads: SchemaLoads::default(),
            final_failure: watch::Sender::new(None),
        }))
    }

    /// How often verified tokens were looked up, found and displaced.
    pub fn token_figures(&self) -> TokenFigures {
        self.tokens.figures()
    }

    /// The settings of this moment.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.state().config)
    }

    /// The settings of this moment as text of a configuration file, secrets included.
    pub fn dump_config(&self) -> String {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.config().dump(&sources)
    }

    /// Whether the last load of the schema cache succeeded and the database serves connections, for probes. Requests are answered
    /// from the former cache meanwhile.
    pub async fn check_ready(&self) -> bool {
        self.cache().is_some() && !self.loads.is_failing.load(Ordering::Relaxed) && self.pool.is_served().await
    }

    pub(crate) fn loads(&self) -> &SchemaLoads {
        &self.loads
    }

    /// Waits until the process must end, and returns why: the database refused the password before the first load, or it was not
    /// reached while `db-pool-automatic-recovery` is off.
    pub async fn wait_for_final_failure(&self) -> String {
        let mut failures = self.final_failure.subscribe();
        // The sender lives as long as the API.
        let reason = failures.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        reason.unwrap_or_default()
    }

    /// Records a lost or refused connection, which ends the process where connections are not to be opened again.
    pub(crate) fn record_lost_connection(&self, error: &str) {
        if !self.config().db_pool_automatic_recovery {
            self.final_failure.send_replace(Some(format!("{error} (db-pool-automatic-recovery is false)")));
        }
    }

    /// A connection of its own.
    async fn connect(&self) -> Result<Client, String> {
        let failure = match self.pool.connect().await {
            Ok(client) => return Ok(client),
            Err(failure) => failure,
        };
        let text = error_chain(failure.as_ref());
        if database_code(failure.as_ref()) == Some(&SqlState::INVALID_PASSWORD) && self.cache().is_none() {
            self.final_failure.send_replace(Some(text.clone()));
        }
        self.record_lost_connection(&text);
        Err(text)
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
        self.cache.get()
    }

    /// How long the API stays connected.
    pub(crate) fn presence(&self) -> Presence {
        self.dependencies.presence
    }

    /// Waits until a request needs the schema cache, and did so within the limit.
    pub(crate) async fn wait_until_wanted(&self, limit: Duration) {
        self.cache.wait_until_wanted(limit).await;
    }

    /// Lets requests fail that wait for the first load.
    pub(crate) fn record_failure(&self) {
        self.cache.record_failure();
    }

    /// Waits until no request has needed the schema cache for this long, or it was given up.
    pub(crate) async fn wait_until_unused(&self, limit: Duration) {
        self.cache.wait_until_unused(limit).await;
    }

    /// Gives the schema cache up, and closes the connections that no request uses.
    pub(crate) fn suspend(&self) {
        self.cache.clear();
        self.pool.renew();
    }

    /// Closes the connections of an API that connects on demand and answers no request now; until the returned value is dropped it
    /// opens none of its own accord. The next request reads the schema anew.
    pub async fn pause(self: &Arc<Self>) -> ApiPause {
        self.pauses.send_modify(|count| *count += 1);
        let counted = PauseCount(Arc::clone(self));
        let connected = Arc::clone(&self.connected).lock_owned().await;
        self.suspend();
        ApiPause { _counted: counted, _connected: connected }
    }

    /// Waits until the API may connect of its own accord, and returns what it holds meanwhile.
    pub(crate) async fn begin_presence(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.connected).lock_owned().await
    }

    /// Waits until the API has to close its connections.
    pub(crate) async fn wait_for_pause(&self) {
        // The sender lives as long as the API.
        let _ = self.pauses.subscribe().wait_for(|count| *count > 0).await;
    }

    /// Replaces the settings of file and environment; those of the database stay as they were read.
    ///
    /// # Errors
    /// A setting cannot be used; nothing changes then.
    pub fn replace_settings(&self, sources: Sources) -> Result<(), String> {
        let roles = self.state().roles.clone();
        let mut current = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        let merged = Sources { database: current.database.clone(), ..sources };
        let config = Arc::new(Config::build(&merged)?);
        *current = merged;
        self.apply(config, roles);
        Ok(())
    }

    /// Lets settings take effect.
    fn apply(&self, config: Arc<Config>, roles: RoleSettings) {
        self.pool.set_prepares(config.db_prepared_statements);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(State { config, roles });
    }

    /// Reads the settings anew, those of the database included. The sources stay as they are on failure.
    ///
    /// # Errors
    /// The database refused a query, or a setting cannot be used.
    pub async fn reload_config(&self, file: Option<Sources>) -> Result<(), String> {
        self.read_config(file).await.inspect_err(|_| self.cache.record_failure())
    }

    async fn read_config(&self, file: Option<Sources>) -> Result<(), String> {
        let sources = || self.sources.read().unwrap_or_else(PoisonError::into_inner).clone();
        let config = Config::build(file.as_ref().unwrap_or(&sources()))?;
        let mut roles = RoleSettings::default();
        let mut database = None;
        if config.db_config {
            let client = self.connect().await?;
            let read = settings::read_settings(&client, config.db_pre_config.as_ref()).await;
            database = Some(read.map_err(|error| error_chain(error.as_ref()))?);
            roles = settings::read_role_settings(&client).await.map_err(|error| error_chain(error.as_ref()))?;
        }
        // Settings may have been replaced meanwhile: those of now are completed.
        let mut current = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        let mut merged = file.unwrap_or_else(|| current.clone());
        if let Some(database) = database {
            merged.database = database;
        }
        let config = Arc::new(Config::build(&merged)?);
        *current = merged;
        self.apply(config, roles);
        Ok(())
    }

    /// Reads the schema cache anew. The former one stays on failure.
    ///
    /// # Errors
    /// The database refused a query.
    pub async fn reload_schema(&self) -> Result<(), String> {
        self.reload_schema_since(None).await
    }

    /// Reads the schema cache anew, unless that was begun after this moment and has succeeded.
    async fn reload_schema_since(&self, moment: Option<Instant>) -> Result<(), String> {
        // Outcomes are recorded in the order of the loads.
        let mut latest = self.reloading.lock().await;
        if moment.is_some() && *latest >= moment {
            return Ok(());
        }
        let began = Instant::now();
        let read = self.read_schema().await;
        if read.is_ok() {
            *latest = Some(began);
        }
        self.loads.is_failing.store(read.is_err(), Ordering::Relaxed);
        let count = if read.is_ok() { &self.loads.succeeded } else { &self.loads.failed };
        count.fetch_add(1, Ordering::Relaxed);
        read.inspect_err(|_| self.cache.record_failure())
    }

    async fn read_schema(&self) -> Result<(), String> {
        let client = self.connect().await?;
        let started = Instant::now();
        let former = self.cache();
        let loaded = SchemaCache::load(&client, &self.config(), former.as_deref()).await;
        self.cache.replace(loaded.map_err(|error| error_chain(error.as_ref()))?);
        let microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.loads.query_time.store(microseconds, Ordering::Relaxed);
        self.pool.renew();
        Ok(())
    }

    /// Reads the names of time zones, unless they are known.
    pub(crate) async fn read_timezones(&self, cache: &SchemaCache) -> Result<(), String> {
        cache.timezones.read(async || self.connect().await).await
    }

    /// Answers a request. The path begins at the root of the API.
    ///
    /// Where responses are explained, their extensions have the [`Explanation`] and the [`Error`] in an [`Arc`].
    pub async fn handle(&self, parts: &Parts, body: Bytes) -> Response<response::Body> {
        let state = self.state();
        let config = &state.config;
        let grant = cors::grant(&parts.headers, config.server_cors_allowed_origins.as_deref());
        let preflight = grant.as_ref().and_then(|grant| grant.preflight(&parts.method, &parts.headers));
        let preflight = preflight.map(|response| response.map(response::Body::Whole));
        let statements = OnceLock::new();
        let mut response = if let Some(response) = preflight {
            response
        } else {
            let explanation = OnceLock::new();
            let answered = self.answer_in_time(&state, parts, &body, (&explanation, &statements)).await;
            if let Err(error) = &answered
                && matches!(&*error.code, "PGRST000" | "PGRST001")
            {
                self.record_lost_connection(&error.message);
            }
            let refused = answered.as_ref().err().filter(|_| self.dependencies.explains).cloned();
            let mut response = answered.unwrap_or_else(Error::into_reply).into_response();
            if let Some(error) = refused {
                response.extensions_mut().insert(Arc::new(error));
            }
            if let Some(explanation) = explanation.into_inner() {
                response.extensions_mut().insert(Arc::new(explanation));
            }
            // An `OPTIONS` request that is no preflight is answered by the resource alone.
            if let Some(grant) = grant.filter(|_| parts.method != http::Method::OPTIONS) {
                grant.apply(response.headers_mut());
            }
            response
        };
        if [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT].contains(&response.status()) {
            // A function of the database may have set its own.
            response.headers_mut().entry("retry-after").or_insert(HeaderValue::from_static("1"));
        }
        if let Some(name) = &config.server_trace_header
            && let Ok(name) = http::HeaderName::from_bytes(name.as_bytes())
        {
            let value = parts.headers.get(&name).cloned().unwrap_or_else(|| HeaderValue::from_static(""));
            response.headers_mut().insert(name, value);
        }
        log(config.log_level, parts, &response, statements.get().map_or(&[], Vec::as_slice));
        response
    }

    /// Answers a request, unless it takes too long or the database stops answering: its statement is cancelled then.
    async fn answer_in_time(
        &self,
        state: &State,
        parts: &Parts,
        body: &Bytes,
        found: Found<'_>,
    ) -> Result<Reply, Error> {
        let limit = self.dependencies.request_limit;
        let timed_out = async {
            match limit {
                Some(limit) => {
                    tokio::time::sleep(limit).await;
                    limit
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answered = self.answer(state, parts, body, found) => answered,
            () = self.pool.wait_until_silent() => {
                self.pool.renew();
                Err(Error::connection_lost("The database does not answer"))
            }
            limit = timed_out => Err(Error::request_timeout(limit)),
        }
    }

    async fn answer(
        &self,
        state: &State,
        parts: &Parts,
        body: &Bytes,
        (explanation, statements): Found<'_>,
    ) -> Result<Reply, Error> {
        let mut timing = Timing::default();
        let config = &state.config;
        let arrived = Instant::now();
        let started = arrived;
        let header = parts.headers.get("authorization").map(|value| String::from_utf8_lossy(value.as_bytes()));
        let is_api_key = parts.extensions.get::<TokenIsApiKey>().is_some();
        let now = if is_api_key { machine_time() } else { (self.dependencies.clock)() };
        let identity = self.tokens.authenticate(config, header.as_deref().and_then(find_bearer), now)?;
        timing.record("jwt", started);
        let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
        if target > MAXIMUM_TARGET {
            return Err(Error::new(414, "PGRST100", "The URL is too long"));
        }
        let on_demand = matches!(self.presence(), Presence::OnDemand(_));
        let mut cache = self.cache.wait(on_demand).await?;
        let started = Instant::now();
        if names_timezone(&parts.headers) {
            self.read_timezones(&cache).await.map_err(Error::connection)?;
        }
        let request = parse_request(config, &cache, parts, body).await?;
        timing.record("parse", started);
        let started = Instant::now();
        let mut plan = Plan::build(Context { cache: &cache, config, request: &request });
        if (on_demand || self.dependencies.reloads_for_missing)
            && plan.as_ref().is_err_and(Error::is_missing_object)
            && self.reload_schema_since(Some(arrived)).await.is_ok()
        {
            cache = self.cache.wait(on_demand).await?;
            plan = Plan::build(Context { cache: &cache, config, request: &request });
        }
        let plan = plan?;
        timing.record("plan", started);
        let started = Instant::now();
        let call = Call {
            pool: &self.pool,
            dependencies: &self.dependencies,
            config,
            roles: &state.roles,
            cache: &cache,
            identity: &identity,
            request: &request,
            plan: &plan,
            explanation,
            statements,
        };
        let mut reply = call.run().await?;
        timing.record("transaction", started);
        if config.server_timing_enabled {
            timing.record("response", Instant::now());
            reply.headers.push(("Server-Timing".to_owned(), timing.header()));
        }
        Ok(reply)
    }
}

/// Whether a preference names a time zone.
fn names_timezone(headers: &HeaderMap) -> bool {
    headers.get_all("prefer").iter().any(|value| String::from_utf8_lossy(value.as_bytes()).contains("timezone="))
}

/// Reads a request, one with a long body outside of the threads that answer requests.
async fn parse_request(
    config: &Arc<Config>,
    cache: &Arc<SchemaCache>,
    parts: &Parts,
    body: &Bytes,
) -> Result<ApiRequest, Error> {
    let parse = |config: &Config, cache: &SchemaCache, parts: &Parts, body: &Bytes| {
        let rules = RequestRules {
            schemas: &config.db_schemas,
            root_function: config.db_root_spec.as_ref(),
            describes_root: config.openapi_mode != OpenApiMode::Disabled,
            allows_transaction: config.db_tx_end.allows_override,
            maximum_body: config.server_max_body_size,
        };
        ApiRequest::parse(parts, body, &rules, |name| cache.timezones.contains(name))
    };
    if body.len() <= SHORT_BODY {
        return parse(config, cache, parts, body);
    }
    let internal = || Error::internal("The body could not be read");
    let permit = Arc::clone(&LONG_BODIES).acquire_owned().await.map_err(|_| internal())?;
    let (config, cache, parts, body) = (Arc::clone(config), Arc::clone(cache), parts.clone(), body.clone());
    let parsed = tokio::task::spawn_blocking(move || {
        // Reading goes on where the client goes away: the place is taken until it ends.
        let _permit = permit;
        parse(&config, &cache, &parts, &body)
    });
    parsed.await.map_err(|_| internal())?
}

/// Logs a request and its statements as the level demands.
fn log(level: LogLevel, parts: &Parts, response: &Response<response::Body>, statements: &[String]) {
    let status = response.status().as_u16();
    let is_logged = match level {
        LogLevel::Critical => false,
        LogLevel::Error => status >= 500,
        LogLevel::Warn => status >= 400,
        LogLevel::Info | LogLevel::Debug => true,
    };
    if is_logged {
        for statement in statements {
            tracing::info!(statement, "statement of a request");
        }
        tracing::info!(method = %parts.method, path = parts.uri.path(), status, "request answered");
    }
}
