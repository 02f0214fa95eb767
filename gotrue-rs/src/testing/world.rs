//! The environment of one test: database, clock, entropy, application and router.
//!
//! Two worlds share nothing, unless [`WorldBuilder::sharing_state_with`] connects them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use foundation::limits_policy::TargetLimits;
use foundation::secret::Secret;
use gotrue_rules::domain::policy::hardening::SWITCHES;
use gotrue_rules::domain::policy::{Argon2Cost, PasswordHash, Policy};
use http::{Method, Request};
use http_body_util::{BodyExt, Collected};
use platform::clock::{Clock, SharedClock};
use platform::entropy::Entropy;
use platform::events::EventLog;
use platform::explanation::{ExplanationStore, Explanations};
use platform::http_client::{HttpClient, OutboundOptions};
use platform::journal::Journal;
use platform::mail::SharedMailer;
use platform::mail::outbox::{MailDestination, Outbox};
use platform::store::outbox::OutboxTable;
use platform::store::{Pool, PoolOptions};
use platform::testing::Answer;
use platform::testing::FakeClock;
use platform::testing::FaultPlan;
use platform::testing::Mailbox;
use serde_json::{Map, Value};
use tower::ServiceExt;

use super::database::clone_migrated;
use super::phones::Phones;
use crate::app::{App, EmailDelivery, Ports};
use crate::ports::hashing::HashingPool;
use crate::ports::keys::KeySettings;
use crate::ports::pwned::PwnedPasswords;
use platform::testing::TestDatabase;

/// The secret that signs the world's tokens.
pub const SECRET: &str = "a-secret-for-tests-that-is-long-enough";

/// The environment of one test.
#[derive(Debug)]
pub struct World {
    pub database: TestDatabase,
    /// The clock; it does not advance by itself.
    pub clock: FakeClock,
    /// The mails sent.
    pub mailbox: Arc<Mailbox>,
    /// The SMS messages sent, in a world built [`WorldBuilder::with_phones`].
    pub phones: Arc<Phones>,
    /// The planned faults.
    pub faults: Arc<FaultPlan>,
    /// The application.
    pub app: Arc<App>,
    router: axum::Router,
    peer: IpAddr,
}

/// Builds a [`World`] that differs from the default one.
pub struct WorldBuilder {
    policy: Policy,
    jwks: Vec<Map<String, Value>>,
    hashing: Option<Arc<HashingPool>>,
    has_outbox: bool,
    mailer: Option<SharedMailer>,
    has_phones: bool,
    connections: u32,
    pool: Box<dyn FnOnce(PoolOptions) -> PoolOptions + Send>,
    outbound: OutboundOptions,
    pwned_at: Option<String>,
    explanations: Explanations,
    shared_state: Option<SharedState>,
}

/// The state that servers on one database share, and an entropy source of their own.
struct SharedState {
    database: TestDatabase,
    clock: FakeClock,
    mailbox: Arc<Mailbox>,
    phones: Arc<Phones>,
    entropy: Entropy,
}

impl World {
    /// A world with e-mail and phone sign-up, required confirmation, and no effective rate limits.
    pub async fn new() -> Self {
        Self::builder().build().await
    }

    /// A builder with the default settings.
    pub fn builder() -> WorldBuilder {
        WorldBuilder {
            policy: test_policy(),
            jwks: Vec::new(),
            hashing: None,
            has_outbox: false,
            mailer: None,
            has_phones: false,
            connections: 8,
            pool: Box::new(|options| options),
            outbound: OutboundOptions::default(),
            pwned_at: None,
            explanations: Explanations::default(),
            shared_state: None,
        }
    }

    /// The default world with a changed policy.
    pub async fn with(change: impl FnOnce(&mut Policy)) -> Self {
        Self::builder().policy(change).build().await
    }

    /// Sends a request through the router.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        self.send_from(self.peer, request).await
    }

    /// Sends a request from the given client address.
    pub async fn send_from(&self, peer: IpAddr, mut request: Request<Body>) -> Answer {
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer, 40_000)));
        let response = self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        Answer::new(parts.status, parts.headers, &body)
    }

    /// Sends a request with headers and an optional JSON body.
    pub async fn request(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Option<Value>) -> Answer {
        self.send(build_request(method, path, headers, body)).await
    }

    /// Sends a `POST` request from the given client address.
    pub async fn post_from(&self, peer: IpAddr, path: &str, headers: &[(&str, &str)], body: Value) -> Answer {
        self.send_from(peer, build_request(Method::POST, path, headers, Some(body))).await
    }

    /// `GET` without a token.
    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path, &[], None).await
    }

    /// `GET` with a token.
    pub async fn get_as(&self, token: &str, path: &str) -> Answer {
        self.request(Method::GET, path, &[("authorization", &format!("Bearer {token}"))], None).await
    }

    /// `POST` without a token.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.request(Method::POST, path, &[], Some(body)).await
    }

    /// `POST` with a token.
    pub async fn post_as(&self, token: &str, path: &str, body: Value) -> Answer {
        self.request(Method::POST, path, &[("authorization", &format!("Bearer {token}"))], Some(body)).await
    }

    /// `PUT` with a token.
    pub async fn put_as(&self, token: &str, path: &str, body: Value) -> Answer {
        self.request(Method::PUT, path, &[("authorization", &format!("Bearer {token}"))], Some(body)).await
    }

    /// Reloads the settings with a changed policy; the state of the server is kept.
    pub fn reload(&mut self, change: impl FnOnce(&mut Policy)) {
        let mut policy = self.app.policy.clone();
        change(&mut policy);
        let secret = Secret::new(SECRET);
        let keys = KeySettings { jwks: &[], secret: &secret, key_id: "", valid_methods: None };
        let (delivery, http) = (self.app.delivery.clone(), self.app.http.clone());
        self.app = Arc::new(self.app.reload(policy, keys, delivery, http).expect("the policy can be used"));
        self.router = crate::router(self.app.clone());
    }

    /// Advances the clock.
    pub fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
    }

    /// The current time of the clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The journal of the latest request.
    pub fn journal(&self) -> Arc<Journal> {
        self.app.journals.latest().expect("a request was sent")
    }
}

impl WorldBuilder {
    /// Changes the policy.
    #[must_use]
    pub fn policy(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.policy);
        self
    }

    /// The policy of `basalt serve`: [`Policy::hardened`] without proxies.
    ///
    /// The switch that the variable `HARDENING_OFF` names is off; the tests of that switch then fail.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "one test runs all others with a switch off")]
    pub fn as_served(self) -> Self {
        let off = std::env::var("HARDENING_OFF").unwrap_or_default();
        self.policy(|policy| {
            *policy = std::mem::take(policy).hardened(Vec::new(), TargetLimits::recommended());
            if let Some(switch) = SWITCHES.iter().find(|switch| switch.field == off) {
                (switch.turn_off)(policy);
            }
        })
    }

    /// Hashes passwords on separate threads with a queue of the given length.
    #[must_use]
    pub fn shared_hashing_pool(mut self, threads: usize, queue: usize) -> Self {
        self.hashing = Some(Arc::new(HashingPool::start(threads, queue).expect("threads can be started")));
        self
    }

    /// Stores mails in the transaction of the request, as `basalt serve` does; no worker sends them.
    #[must_use]
    pub fn with_outbox(mut self) -> Self {
        self.has_outbox = true;
        self
    }

    /// Enables SMS; messages are kept in [`World::phones`].
    #[must_use]
    pub fn with_phones(mut self) -> Self {
        self.has_phones = true;
        self
    }

    /// Sets how outbound HTTP requests are sent.
    #[must_use]
    pub fn outbound(mut self, outbound: OutboundOptions) -> Self {
        self.outbound = outbound;
        self
    }

    /// Looks new passwords up at the leaked-password service with this base URL.
    #[must_use]
    pub fn pwned_at(mut self, base: &str) -> Self {
        self.policy.password.hibp.enabled = true;
        self.pwned_at = Some(base.to_owned());
        self
    }

    /// Keeps explanations and events, as in development.
    #[must_use]
    pub fn with_explanations(mut self) -> Self {
        let store = Arc::new(ExplanationStore::new("http://auth.example.com", "x"));
        self.explanations = Explanations::default().with_store(store).with_events(EventLog::default());
        self
    }

    /// Sets the number of database connections.
    #[must_use]
    pub fn connections(mut self, connections: u32) -> Self {
        self.connections = connections;
        self
    }

    /// Changes the options of the database pool.
    #[must_use]
    pub fn pool(mut self, change: impl FnOnce(PoolOptions) -> PoolOptions + Send + 'static) -> Self {
        self.pool = Box::new(change);
        self
    }

    /// Sends mails with this mailer instead of the mailbox. With an outbox, mails wait for a worker.
    #[must_use]
    pub fn with_mailer(mut self, mailer: SharedMailer) -> Self {
        self.mailer = Some(mailer);
        self
    }

    /// Signs with these JSON Web Keys.
    #[must_use]
    pub fn keys(mut self, jwks: Vec<Map<String, Value>>) -> Self {
        self.jwks = jwks;
        self
    }

    /// Uses the database, the clock, the mailbox and the phones of that world: a second server.
    #[must_use]
    pub fn sharing_state_with(mut self, world: &World) -> Self {
        self.shared_state = Some(SharedState {
            database: world.database.clone(),
            clock: world.clock.clone(),
            mailbox: world.mailbox.clone(),
            phones: world.phones.clone(),
            entropy: world.app.entropy.fork(),
        });
        self
    }

    /// Uses this database instead of a new clone.
    #[must_use]
    pub fn with_database(mut self, database: TestDatabase) -> Self {
        self.shared_state = Some(SharedState::over(database));
        self
    }

    /// Builds the world: a database cloned from the template, and a server on it.
    pub async fn build(self) -> World {
        // Boxed, so that the futures of tests stay small.
        Box::pin(self.start()).await
    }

    async fn start(mut self) -> World {
        let SharedState { database, clock, mailbox, phones, entropy } = match self.shared_state.take() {
            Some(ground) => ground,
            None => SharedState::new().await,
        };
        let shared: SharedClock = Arc::new(clock.clone());
        let usual = database.pool_options(self.policy.api.max_request_duration).with_max_connections(self.connections);
        let shows_database_errors = !self.policy.api.are_database_errors_hidden;
        let pool =
            Pool::new((self.pool)(PoolOptions { should_expose_database_errors: shows_database_errors, ..usual }));
        let delivery = if self.has_outbox {
            let destination = if self.mailer.is_some() { MailDestination::Server } else { MailDestination::Inbox };
            let table = OutboxTable::new(pool.clone());
            EmailDelivery::Outbox(Arc::new(Outbox::new(table, shared.clone(), entropy.fork(), destination)))
        } else {
            EmailDelivery::Synchronous(self.mailer.unwrap_or_else(|| mailbox.clone()))
        };
        let ports = Ports {
            pool,
            clock: shared,
            entropy,
            hashing: self.hashing.unwrap_or_else(hashing),
            delivery,
            http: Arc::new(HttpClient::new(self.outbound)),
        };
        let secret = Secret::new(SECRET);
        let keys = KeySettings { jwks: &self.jwks, secret: &secret, key_id: "", valid_methods: None };
        let faults = Arc::new(FaultPlan::default());
        let (hibp, http) = (self.policy.password.hibp.clone(), ports.http.clone());
        let mut app = App::build(self.policy, keys, ports).expect("the usual policy can be used");
        if let Some(base) = self.pwned_at {
            app.pwned = Arc::new(PwnedPasswords::new(&base, &hibp, http));
        }
        if self.has_phones {
            app.sms.sender = phones.clone();
        }
        let app = Arc::new(app.with_explanations(self.explanations).recording_journals(faults.clone()));
        let router = crate::router(app.clone());
        World { database, clock, mailbox, phones, faults, app, router, peer: IpAddr::V4(Ipv4Addr::LOCALHOST) }
    }
}

impl SharedState {
    /// A database cloned from the template; the clock starts at 2026-06-01T12:00:00Z.
    async fn new() -> Self {
        Self::over(clone_migrated().await)
    }

    fn over(database: TestDatabase) -> Self {
        Self {
            database,
            clock: FakeClock::at(Utc.with_ymd_and_hms(2026, 6, 1, 12, 0, 0).single().unwrap_or_default()),
            mailbox: Arc::default(),
            phones: Arc::default(),
            entropy: Entropy::from_seed(7),
        }
    }
}

fn build_request(method: Method, path: &str, headers: &[(&str, &str)], body: Option<Value>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = body.map_or_else(Body::empty, |json| Body::from(json.to_string()));
    request.body(body).expect("the test's request is well-formed")
}

/// One pool of hashing threads for all worlds; it has no state between two hashes.
fn hashing() -> Arc<HashingPool> {
    static POOL: OnceLock<Arc<HashingPool>> = OnceLock::new();
    POOL.get_or_init(|| Arc::new(HashingPool::start(2, 256).expect("threads can be started"))).clone()
}

fn test_policy() -> Policy {
    let mut policy = Policy::default();
    "http://shop.example.com".clone_into(&mut policy.site.site_url);
    "http://auth.example.com".clone_into(&mut policy.site.external_url);
    "http://auth.example.com".clone_into(&mut policy.jwt.issuer);
    "authenticated".clone_into(&mut policy.jwt.aud);
    "authenticated".clone_into(&mut policy.jwt.default_group);
    policy.sign_up.phone_enabled = true;
    policy.password.hash = PasswordHash::Bcrypt { cost: 4 };
    policy.mfa.recovery_codes.hash_cost = Argon2Cost::LOWEST;
    policy.mail.max_frequency = Duration::from_micros(1);
    policy.sms.max_frequency = Duration::from_micros(1);
    policy
}
