//! The application of the auth API, built from the settings with the ports of a server.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use gotrue_rs::app::{App, EmailDelivery, Ports};
use gotrue_rs::config::Config;
use gotrue_rs::ports::hashing::HashingPool;
use gotrue_rs::ports::keys::KeySettings;
use platform::clock::{SharedClock, SystemClock};
use platform::entropy::Entropy;
use platform::http_client::HttpClient;
use platform::http_client::faults::OutboundFaultInjector;
use platform::journal::FaultInjector;
use platform::limits::SharedLimits;
use platform::store::Pool;
use test_bench::faults::{FaultRules, FaultySmsSender};

use crate::{database, outbound};

/// What several applications of one process share, or what a test replaces.
#[derive(Debug, Clone)]
pub(crate) struct SharedPorts {
    pub clock: SharedClock,
    /// The threads that hash passwords.
    pub hashing: Arc<HashingPool>,
    /// The client of outgoing HTTP requests.
    pub http: SharedHttpClient,
    /// The rules by which statements, mails and outbound calls of a test environment fail.
    pub faults: Option<Arc<FaultRules>>,
}

impl SharedPorts {
    /// Starts the threads; the time is that of the system.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let hashing = HashingPool::start_default().context("starting the threads for hashing")?;
        Ok(Self {
            clock: Arc::new(SystemClock),
            hashing: Arc::new(hashing),
            http: SharedHttpClient::default(),
            faults: None,
        })
    }
}

/// The latest client of outgoing HTTP requests.
///
/// Applications with the same proxies and trusted roots share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedHttpClient(Arc<Mutex<Option<HttpClient>>>);

impl SharedHttpClient {
    /// Returns the client of these settings.
    fn find_or_build(&self, config: &Config) -> anyhow::Result<HttpClient> {
        let options = outbound::outbound_options(config);
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = latest.as_ref().filter(|client| client.has_options(&options)) {
            return Ok(client.clone());
        }
        Ok(latest.insert(outbound::build_http_client(config)?).clone())
    }
}

/// Builds the application from the settings.
pub(crate) fn build(config: &Config, shared: &SharedPorts, pool: Pool, delivery: EmailDelivery) -> anyhow::Result<App> {
    let http = shared.http.find_or_build(config)?;
    let ports = Ports {
        pool,
        clock: Arc::clone(&shared.clock),
        entropy: Entropy::from_system(),
        hashing: Arc::clone(&shared.hashing),
        http: Arc::new(match &shared.faults {
            Some(faults) => http.with_faults(Arc::clone(faults) as Arc<dyn OutboundFaultInjector>),
            None => http,
        }),
        delivery,
    };
    let mut app = App::build(config.policy.clone(), key_settings(config), ports).context("preparing the auth API")?;
    Ok(match &shared.faults {
        Some(faults) => {
            app.sms.sender = Arc::new(FaultySmsSender::new(Arc::clone(&app.sms.sender), Arc::clone(faults)));
            app.with_faults(Arc::clone(faults) as Arc<dyn FaultInjector>)
        }
        None => app,
    })
}

/// Checks that the store of rate limits, if the settings name one, does not refuse this server.
pub(crate) async fn check_limit_store(config: &Config) -> anyhow::Result<()> {
    let clock: SharedClock = Arc::new(SystemClock);
    SharedLimits::check(&config.limit_store, &clock).await.context(
        "the store of rate limits cannot be used: correct [basalt.limits] url (GOTRUE_RATE_LIMIT_STORE_URL), or the store's users, \
         permissions or certificate",
    )
}

/// Adds the store of rate limits that the settings name, if they name one.
pub(crate) fn with_limit_store(app: App, config: &Config) -> anyhow::Result<App> {
    let pool = database::build_limits_pool(&config.database)?;
    let shared = SharedLimits::start(&config.limit_store, &config.jwt.secret, &pool, &app.clock);
    Ok(app.with_shared_limits(shared.context("preparing the store of rate limits")?))
}

/// Builds the application from changed settings and keeps the long-lived state of `before`.
/// `reuse_http_client`: the outbound HTTP client is shared with `before`.
pub(crate) fn rebuild(
    before: &App,
    config: &Config,
    delivery: EmailDelivery,
    reuse_http_client: bool,
) -> anyhow::Result<App> {
    let http =
        if reuse_http_client { Arc::clone(&before.http) } else { Arc::new(outbound::build_http_client(config)?) };
    before.reload(config.policy.clone(), key_settings(config), delivery, http).context("preparing the auth API")
}

fn key_settings(config: &Config) -> KeySettings<'_> {
    KeySettings {
        jwks: &config.jwt.keys,
        secret: config.jwt.secret_of_tokens.as_ref().unwrap_or(&config.jwt.secret),
        key_id: &config.jwt.key_id,
        valid_methods: config.policy.jwt.valid_methods.as_deref(),
    }
}
