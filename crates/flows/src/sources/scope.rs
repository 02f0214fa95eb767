//! What one replay of a flow knows: its server, its variables, its symbols.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use reqwest::Client;
use serde_json::{Map, Value};

use crate::FlowError;
use crate::format::Settings;
use crate::permissions::Permissions;
use crate::symbols::Symbols;
use crate::targets::Target;

/// The value of a call; `None` if the name is not one of this source.
pub type SourceFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<Value>, FlowError>> + Send + 'a>>;

/// Values and effects by name.
pub trait Sources: Send + Sync {
    /// Answers a call, whose arguments have no placeholders and calls any more.
    fn call<'a>(&'a self, name: &'a str, arguments: &'a Value, scope: &'a Scope) -> SourceFuture<'a>;
}

/// What one replay of a flow knows.
pub struct Scope {
    /// The name of the flow.
    pub flow: String,
    /// The server.
    pub target: Arc<Target>,
    /// The settings of the flow.
    pub settings: Arc<Settings>,
    /// Sends requests; follows no redirect and uses no proxy.
    pub client: Client,
    /// The source of randomness.
    pub entropy: Entropy,
    sources: Vec<Arc<dyn Sources>>,
    /// Values that the caller of the replay gave; they replace those of sources.
    given: Map<String, Value>,
    permissions: Permissions,
    variables: Mutex<Map<String, Value>>,
    symbols: Mutex<Symbols>,
    taken_messages: Mutex<HashSet<String>>,
    totp_counters: Mutex<HashMap<String, u64>>,
    clock_offset: Mutex<f64>,
}

impl Scope {
    /// Creates the scope of a replay; `sources` are searched in their order, before those of this crate.
    pub fn new(flow: &str, target: Arc<Target>, settings: Arc<Settings>, client: Client) -> Self {
        let mut symbols = Symbols::default();
        symbols.learn(&target.base, "base");
        target.aliases.iter().for_each(|url| symbols.learn(url, "base"));
        symbols.learn(&target.project, "project");
        let mut variables = target.variables();
        variables.insert("flow".to_owned(), flow.into());
        Self {
            flow: flow.to_owned(),
            target,
            settings,
            client,
            entropy: Entropy::from_system(),
            sources: Vec::new(),
            given: Map::new(),
            permissions: Permissions::default(),
            variables: Mutex::new(variables),
            symbols: Mutex::new(symbols),
            taken_messages: Mutex::default(),
            totp_counters: Mutex::default(),
            clock_offset: Mutex::default(),
        }
    }

    /// Adds sources that are searched before those of this crate.
    #[must_use]
    pub fn with_sources(mut self, sources: Vec<Arc<dyn Sources>>) -> Self {
        self.sources.splice(0..0, sources);
        self
    }

    /// Sets what the flow may reach beyond its server; nothing without it.
    #[must_use]
    pub fn with_permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Returns what the flow may reach beyond its server.
    pub fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// Adds values that replace those of sources.
    #[must_use]
    pub fn with_given(mut self, given: Map<String, Value>) -> Self {
        for (name, value) in &given {
            self.set(name, value.clone());
        }
        self.given = given;
        self
    }

    /// Shows members of credentials as secrets, as the recorder does.
    pub(crate) fn hide_credentials(&self) {
        self.symbols().hide_credentials();
    }

    pub(super) fn sources(&self) -> &[Arc<dyn Sources>] {
        &self.sources
    }

    /// Returns the value that the caller of the replay gave.
    pub fn given(&self, name: &str) -> Option<&Value> {
        self.given.get(name)
    }

    /// Returns a copy of the variables.
    pub fn variables(&self) -> Map<String, Value> {
        let mut variables = lock(&self.variables).clone();
        #[expect(clippy::cast_possible_truncation, reason = "whole seconds")]
        variables.insert("now".to_owned(), (self.now() as i64).into());
        variables
    }

    /// Sets a variable.
    pub fn set(&self, name: &str, value: Value) {
        lock(&self.variables).insert(name.to_owned(), value);
    }

    /// Returns the symbols. The guard must not be held over an await.
    pub fn symbols(&self) -> MutexGuard<'_, Symbols> {
        lock(&self.symbols)
    }

    /// Returns the time of the server's world in seconds.
    pub fn now(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds are below 2^52")]
        let now = SystemClock.now().timestamp_millis() as f64 / 1000.0;
        now + *lock(&self.clock_offset)
    }

    /// Notes that the clock of the server's world shows this time.
    pub(crate) fn set_now(&self, seconds: f64) {
        let offset = seconds - (self.now() - *lock(&self.clock_offset));
        *lock(&self.clock_offset) = offset;
    }

    /// Marks a message as returned; false if it was before.
    pub(super) fn take_message(&self, id: &str) -> bool {
        lock(&self.taken_messages).insert(id.to_owned())
    }

    /// Returns whether a message was returned before.
    pub(super) fn is_taken(&self, id: &str) -> bool {
        lock(&self.taken_messages).contains(id)
    }

    /// Returns a period of one-time passwords after the last one of the secret, `wanted` if there is none.
    pub(super) fn next_totp_counter(&self, secret: &str, wanted: u64) -> u64 {
        let mut counters = lock(&self.totp_counters);
        let next = counters.get(secret).map_or(wanted, |last| wanted.max(last + 1));
        counters.insert(secret.to_owned(), next);
        next
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
