//! The validated configuration: the policy, and the settings of the process around it.

use std::path::PathBuf;
use std::time::Duration;

use foundation::limit_store::LimitStoreSettings;
use foundation::secret::Secret;
use gotrue_rules::domain::policy::Policy;

use super::problem::Notice;
use super::telemetry_settings::TelemetrySettings;

/// The validated configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The policy of rules and handlers.
    pub policy: Policy,
    /// The address of the API.
    pub listen: ListenAddress,
    pub database: DatabaseSettings,
    /// The mail server; without one, mail is dropped silently.
    pub smtp: Option<SmtpSettings>,
    /// The keys of access tokens.
    pub jwt: JwtKeys,
    pub log: LogSettings,
    /// The address of the metrics endpoint; `None` if it is disabled.
    pub metrics: Option<ListenAddress>,
    /// The store of rate limits that several processes share.
    pub limit_store: LimitStoreSettings,
    /// The export of traces and metrics; `None` if neither is exported.
    pub telemetry: Option<TelemetrySettings>,
    /// Proxies and trusted roots of outgoing requests.
    pub outbound: OutboundSettings,
    /// When the files of `--config-dir` are reloaded.
    pub reloading: ReloadSettings,
    /// How long requests are accepted after the signal to stop. Default zero.
    pub shutdown_drain: Duration,
    /// Notices to log once logging is set up.
    pub notices: Vec<Notice>,
}

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// Host name or address; empty for all interfaces. Default empty.
    pub host: String,
    /// Port; 0 for a free one. Default 8081.
    pub port: u16,
}

impl Default for ListenAddress {
    fn default() -> Self {
        Self { host: String::new(), port: 8081 }
    }
}

/// The database and its connection pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseSettings {
    /// The URL with user and password.
    pub url: Secret,
    /// The schema of the tables. Default `auth`.
    pub namespace: String,
    /// The maximum number of connections; 0 for the server's default. Default 0.
    pub max_pool_size: u32,
    /// The maximum lifetime of a connection; zero for the default of 30 minutes. Default zero.
    pub conn_max_lifetime: Duration,
    /// The maximum idle time of a connection; zero for the default of 10 minutes. Default zero.
    pub conn_max_idle_time: Duration,
    /// The percentage of the database's connections to use; 0 means that `max_pool_size` applies.
    ///
    /// Default 0.
    pub conn_percentage: u8,
    /// The URL of a replica for reads that may be stale; empty for none. Default empty.
    pub replica_url: Secret,
    /// The greatest lag of a replica that is read from. Default 5 seconds.
    pub replica_max_lag: Duration,
    /// The maximum wait for a database that is down at the start; zero for none. Default one minute.
    pub start_timeout: Duration,
    /// How long requests wait for a database that was lost, from the loss on; zero for not at all.
    ///
    /// Default 5 seconds.
    pub failover_wait: Duration,
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        Self {
            url: Secret::default(),
            namespace: "auth".to_owned(),
            max_pool_size: 0,
            conn_max_lifetime: Duration::ZERO,
            conn_max_idle_time: Duration::ZERO,
            conn_percentage: 0,
            replica_url: Secret::default(),
            replica_max_lag: Duration::from_secs(5),
            start_timeout: Duration::from_mins(1),
            failover_wait: Duration::from_secs(5),
        }
    }
}

/// The mail server. The minimum interval between two mails is `policy.mail.max_frequency`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpSettings {
    pub host: String,
    /// The port; 465 means implicit TLS. Default 587.
    pub port: u16,
    /// The user name; empty for no authentication. Default empty.
    pub user: String,
    /// The password of `user`.
    pub pass: Secret,
    /// The sender's address. Default empty.
    pub admin_email: String,
    /// The sender's name. Default empty.
    pub sender_name: String,
    /// Additional headers; `$messageType` in a value is replaced by the kind of mail. Default none.
    pub headers: Vec<(String, Vec<String>)>,
    /// Whether the sending of each mail is logged. Default false.
    pub logging_enabled: bool,
}

/// The keys of access tokens: `keys`, or `secret` if there are none.
#[derive(Clone, Default, PartialEq)]
pub struct JwtKeys {
    /// The shared secret (HS256).
    pub secret: Secret,
    /// The key id of `secret`; empty for none.
    pub key_id: String,
    /// JSON web keys with unique ids, exactly one of which has the operation `sign`.
    pub keys: Vec<serde_json::Map<String, serde_json::Value>>,
    /// Verifies tokens in place of `secret` once that is retired; default `None`.
    pub secret_of_tokens: Option<Secret>,
}

/// Shows the number of keys and none of their members.
impl std::fmt::Debug for JwtKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys = format_args!("{} keys", self.keys.len());
        f.debug_struct("JwtKeys").field("key_id", &self.key_id).field("keys", &keys).finish_non_exhaustive()
    }
}

/// `GOTRUE_LOG_…`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// The minimum level of logged lines. Default info.
    pub level: LogLevel,
    /// A file that lines are appended to; `None` for standard error. Default `None`.
    pub file: Option<PathBuf>,
    /// The format of lines. Default JSON.
    pub format: LogFormat,
    /// Whether statements are logged by name. Default false.
    pub sql: bool,
}

/// The level of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Failures that should not occur.
    Error,
    /// Conditions that need attention.
    Warn,
    /// Normal events.
    #[default]
    Info,
    /// Details of events.
    Debug,
    /// Every step.
    Trace,
}

impl LogLevel {
    /// Parses a name of the reference, in any case; an empty one is the default.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.to_lowercase().as_str() {
            "" | "info" => Self::Info,
            "panic" | "fatal" | "error" => Self::Error,
            "warn" | "warning" => Self::Warn,
            "debug" => Self::Debug,
            "trace" => Self::Trace,
            _ => return None,
        })
    }

    /// Returns the level's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object per line.
    #[default]
    Json,
    /// Human-readable text.
    Text,
}

/// Proxies and trusted roots of outgoing requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboundSettings {
    /// The proxy for `https` URLs; `None` for a direct connection.
    pub https_proxy: Option<Secret>,
    /// The proxy for `http` URLs; `None` for a direct connection.
    pub http_proxy: Option<Secret>,
    /// Hosts reached without a proxy, comma-separated.
    pub no_proxy: String,
    /// A PEM file of trusted roots that replace the system's.
    pub ssl_cert_file: Option<PathBuf>,
    /// Folders of such files, colon-separated.
    pub ssl_cert_dir: Option<String>,
}

/// When the files of `--config-dir` are reloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadSettings {
    /// Whether files are watched. Default true.
    pub notify_enabled: bool,
    /// Whether files are polled if they are not watched. Default false.
    pub poller_enabled: bool,
    /// The polling interval. Default 10 s.
    pub poller_interval: Duration,
    /// Whether a signal reloads the files. Default false.
    pub signal_enabled: bool,
    /// The signal. Default 10 (SIGUSR1).
    pub signal_number: i32,
    /// How long no change may occur before a reload. Default 5 s.
    pub grace_period: Duration,
}

impl Default for ReloadSettings {
    fn default() -> Self {
        Self {
            notify_enabled: true,
            poller_enabled: false,
            poller_interval: Duration::from_secs(10),
            signal_enabled: false,
            signal_number: 10,
            grace_period: Duration::from_secs(5),
        }
    }
}
