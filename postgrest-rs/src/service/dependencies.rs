//! What the program around an API provides besides its settings.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::Error;
use crate::error::database::DatabaseError;

/// A clock: seconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// What an API uses besides its settings.
#[derive(Clone)]
pub struct Dependencies {
    /// The time by which tokens are valid. That of the machine by default.
    pub clock: Clock,
    /// Delays and failures of statements, for tests of applications.
    pub faults: Option<Arc<dyn StatementFaults>>,
    /// Whether responses that row level security or privileges made empty or refused carry an
    /// [`Explanation`](super::explanation::Explanation); for development.
    pub explains: bool,
    /// Whether a request for a table or function that the schema cache does not have reads the schema again, once for all requests
    /// that wait for it. In development a new table is then found at once; elsewhere clients could cause reads by wrong names. An
    /// API on demand always does it.
    pub reloads_for_missing: bool,
    /// How long the API stays connected.
    pub presence: Presence,
    /// How long a request may take, from its whole body to its whole result; without a limit by default.
    pub request_limit: Option<Duration>,
}

/// How long an API keeps its schema cache, and the connection that tells of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// As long as it runs.
    Permanent,
    /// From a request until none arrived for this long. A request that names what the cache does not have reads the schema anew.
    OnDemand(Duration),
}

impl Default for Dependencies {
    fn default() -> Self {
        Self {
            clock: Arc::new(machine_time),
            faults: None,
            explains: false,
            reloads_for_missing: false,
            presence: Presence::Permanent,
            request_limit: None,
        }
    }
}

impl std::fmt::Debug for Dependencies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { clock: _, faults, explains, reloads_for_missing, presence, request_limit } = self;
        f.debug_struct("Dependencies")
            .field("faults", faults)
            .field("explains", explains)
            .field("reloads_for_missing", reloads_for_missing)
            .field("presence", presence)
            .field("request_limit", request_limit)
            .finish_non_exhaustive()
    }
}

/// The time of the machine, in seconds since 1970.
pub fn machine_time() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "tokens expire by the time of the machine")]
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().cast_signed()
}

/// The extension of a request whose token is an API key: its times are compared with the clock of the machine.
#[derive(Debug, Clone, Copy)]
pub struct TokenIsApiKey;

/// Makes statements of requests wait or fail.
pub trait StatementFaults: std::fmt::Debug + Send + Sync {
    /// The fault of the next statement; `writes` tells whether its transaction may write.
    fn fault_of(&self, writes: bool) -> Option<StatementFault>;
}

/// What happens in place of a statement, or before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementFault {
    /// How long the statement waits first.
    pub delay: Duration,
    /// How it fails then.
    pub failure: Option<StatementFailure>,
}

/// How a statement fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementFailure {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 25006.
    ReadOnly,
    LostConnection,
}

impl StatementFailure {
    pub(super) fn error(self, is_authenticated: bool) -> Error {
        let (code, message) = match self {
            Self::Serialization => ("40001", "could not serialize access due to concurrent update"),
            Self::ReadOnly => ("25006", "cannot execute the statement in a read-only transaction"),
            Self::LostConnection => return Error::connection_lost("connection closed"),
        };
        Error::from_database(&DatabaseError { code, message, detail: None, hint: None }, is_authenticated)
    }
}
