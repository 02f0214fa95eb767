//! A backend: one instance of the auth API, the functions and the development pages, on one database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use futures::future::{BoxFuture, join_all};
use gotrue_rs::app::App;
use messages::MessageStore;
use platform::clock::SharedClock;
use platform::events::EventLog;
use platform::store::migrate::DatabaseName;
use provider_simulator::Simulator;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::TestApiError;
use crate::faults::FaultRules;

/// The longest wait for the background tasks of a backend that ends.
const TASK_SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// Answers the requests of one backend; their paths are those below its URL.
pub type RequestHandler = Arc<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>;

/// Closes connections, and opens none until the returned value is dropped.
pub type PauseConnections = Arc<dyn Fn() -> BoxFuture<'static, Box<dyn Send>> + Send + Sync>;

/// A running backend.
pub struct Backend {
    /// The application of its auth API.
    pub app: Arc<App>,
    /// Answers its requests.
    pub handler: RequestHandler,
    /// The messages that it sent.
    pub messages: MessageStore,
    /// The simulator of its providers; `None` in the profile `gotrue`.
    pub providers: Option<Arc<Simulator>>,
    /// Closes the connections to its database that are not those of its application, where it has such.
    pub pause: Option<PauseConnections>,
    /// Ends its background tasks and waiting requests.
    pub closing: watch::Sender<bool>,
    /// Its background tasks.
    pub tasks: Vec<JoinHandle<()>>,
}

/// Which behaviour a world has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// That of `basalt serve`: hardened, settings in the shape of `config.toml`.
    #[default]
    Serve,
    /// That of `basalt gotrue`: as the reference behaves, settings as its variables.
    Gotrue,
}

/// What a test chooses when it creates a world.
#[derive(Debug, Clone, Default)]
pub struct WorldSettings {
    /// Which behaviour it has.
    pub profile: Profile,
    /// Variables of the profile `gotrue`.
    pub env: BTreeMap<String, String>,
    /// Settings in the shape of `config.toml`; they take precedence over the project's file.
    pub config: Map<String, Value>,
}

/// The keys of a world; a fork and a restored world keep them.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorldKeys {
    /// The key of clients in browsers.
    pub publishable_key: String,
    /// The key of servers.
    pub secret_key: String,
    /// The older key of clients: a token.
    pub anon_key: String,
    /// The older key of servers: a token.
    pub service_role_key: String,
    /// The secret of tokens with symmetric signatures.
    pub jwt_secret: String,
    /// The private key of access tokens, as a JSON Web Key (RFC 7517).
    #[serde(skip)]
    pub signing_key: Map<String, Value>,
}

/// What a backend is built from.
#[derive(Clone)]
pub struct BackendPlan {
    /// The URL for clients, without a trailing slash.
    pub url: String,
    pub keys: Arc<WorldKeys>,
    pub settings: WorldSettings,
    /// Its database, with all schemas.
    pub database: DatabaseName,
    pub clock: SharedClock,
    /// The rules by which its requests and what is behind them fail.
    pub faults: Arc<FaultRules>,
    /// What happens in it; the ids increase over changes of the world.
    pub events: EventLog,
}

/// The addresses of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct DatabaseUrls {
    /// By the socket, where the database has one.
    pub database_url: String,
    /// By TCP.
    #[schema(required)]
    pub database_url_tcp: Option<String>,
}

/// Builds backends; the server implements it.
pub trait BackendBuilder: Send + Sync + 'static {
    fn generate_keys(&self) -> Result<WorldKeys, TestApiError>;

    /// Builds a backend and starts its background tasks.
    ///
    /// # Errors
    /// The settings are invalid; the message names them.
    fn build(&self, plan: &BackendPlan) -> Result<Backend, TestApiError>;

    /// Returns the effective settings as in `config.toml`, or the variables of the profile `gotrue`.
    fn describe_settings(&self, settings: &WorldSettings) -> Map<String, Value>;

    /// Returns the addresses of a database for an operator.
    fn database_urls(&self, database: &DatabaseName) -> DatabaseUrls;
}

impl Backend {
    /// Ends the waiting requests and the background tasks, and closes the database connections.
    pub(crate) async fn close(mut self) {
        self.closing.send_replace(true);
        self.app.pool.close().await;
        let ending = timeout(TASK_SHUTDOWN_LIMIT, join_all(self.tasks.iter_mut())).await;
        if ending.is_err() {
            for task in &self.tasks {
                task.abort();
            }
        }
    }
}
