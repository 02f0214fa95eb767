//! The API: from a request to a response.

mod call;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response};
use tokio::sync::watch;

use self::call::Call;
use crate::config::{Config, LogLevel, OpenApiMode, Sources};
use crate::error::Error;
use crate::execute::pool::{Pool, PoolLimits};
use crate::execute::{connect, error_chain, settings};
use crate::jwt::{TokenCache, find_bearer};
use crate::plan::{Context, Plan};
use crate::request::ApiRequest;
use crate::request::parse::RequestRules;
use crate::response::{Reply, cors};
use crate::schema_cache::SchemaCache;
use crate::sql::settings::RoleSettings;

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
    /// An API with the settings of these sources. The database is asked by [`Self::reload_config`] and [`Self::reload_schema`].
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
        self.pool.renew();
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
