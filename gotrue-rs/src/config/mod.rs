//! Settings: variables become a checked [`Config`] when the server starts, or all problems at once. Every setting is
//! one row of the table in [`settings`], which also makes `docs/configuration.md`. Nothing here waits or connects.

mod check;
mod docs;
pub mod dotenv;
mod draft;
mod nearest;
mod problem;
mod setting;
pub mod settings;
pub mod values;
mod vars;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use gotrue_rules::domain::policy::{HookKind, Policy};
use gotrue_rules::domain::secret::Secret;

pub use self::docs::reference as reference_document;
use self::draft::Draft;
pub use self::nearest::nearest;
pub use self::problem::{Loudness, Notice, Problem};
pub use self::setting::{Family, Form, Put, Setting, To};
pub use self::vars::{Unreadable, Vars};

/// Everything the operator decided, checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// What the rules and flows read.
    pub policy: Policy,
    /// Where requests come in.
    pub listen: Listen,
    /// The database.
    pub database: Database,
    /// The mail server; absent: mail is dropped without a word.
    pub smtp: Option<Smtp>,
    /// What access tokens are signed and verified with.
    pub jwt: JwtKeys,
    /// What is logged, and where to.
    pub log: Log,
    /// Where the metrics are served; absent: nowhere.
    pub metrics: Option<Listen>,
    /// How outgoing requests leave.
    pub outbound: Outbound,
    /// When changed files of `--config-dir` are read again.
    pub reloading: Reloading,
    /// What is worth a line in the log once there is one.
    pub notices: Vec<Notice>,
}

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// Host name or address; empty: all of this machine. Default empty.
    pub host: String,
    /// Port; 0: a free one. Default 8081.
    pub port: u16,
}

impl Default for Listen {
    fn default() -> Self {
        Self { host: String::new(), port: 8081 }
    }
}

/// The database and the pool of connections to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// Its URL with user and password.
    pub url: Secret,
    /// The schema of the tables. Default `auth`.
    pub namespace: String,
    /// Most connections; 0: no limit of the operator's. Default 0.
    pub max_pool_size: u32,
    /// Longest life of a connection; zero: no end. Default zero.
    pub conn_max_lifetime: Duration,
    /// Longest rest of a connection; zero: 10 minutes. Default zero.
    pub conn_max_idle_time: Duration,
    /// Share of the server's connections to use, 0–100; 0: `max_pool_size` holds. Default 0.
    pub conn_percentage: u8,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            url: Secret::default(),
            namespace: "auth".to_owned(),
            max_pool_size: 0,
            conn_max_lifetime: Duration::ZERO,
            conn_max_idle_time: Duration::ZERO,
            conn_percentage: 0,
        }
    }
}

/// The mail server. The shortest time between two mails is `policy.mail.max_frequency`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smtp {
    /// Its host.
    pub host: String,
    /// Its port; 465 means TLS from the first byte. Default 587.
    pub port: u16,
    /// Who we are there; empty: nobody in particular. Default empty.
    pub user: String,
    /// The password of `user`.
    pub pass: Secret,
    /// Address of the sender. Default empty.
    pub admin_email: String,
    /// Name of the sender. Default empty.
    pub sender_name: String,
    /// More headers with their values, in the order given; `$messageType` in a value is the kind of mail. Default none.
    pub headers: Vec<(String, Vec<String>)>,
    /// The conversation with the server is logged. Default false.
    pub logging_enabled: bool,
}

/// What access tokens are signed and verified with: `keys`, or `secret` where there are none.
#[derive(Clone, Default, PartialEq)]
pub struct JwtKeys {
    /// The shared secret (HS256).
    pub secret: Secret,
    /// The key id of `secret`; empty: none.
    pub key_id: String,
    /// JSON web keys, one per key id, exactly one of them (or of none) with the operation `sign`.
    pub keys: Vec<serde_json::Map<String, serde_json::Value>>,
}

/// Shows how many keys there are, none of their members.
impl std::fmt::Debug for JwtKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys = format_args!("{} keys", self.keys.len());
        f.debug_struct("JwtKeys").field("key_id", &self.key_id).field("keys", &keys).finish_non_exhaustive()
    }
}

/// What is logged, and where to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The least important lines that are logged. Default info.
    pub level: LogLevel,
    /// A file that lines are added to; absent: standard error. Default absent.
    pub file: Option<PathBuf>,
    /// How lines look. Default JSON.
    pub format: LogFormat,
    /// Statements are logged by name. Default false.
    pub sql: bool,
}

/// How important a line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed that should not.
    Error,
    /// Something to look at.
    Warn,
    /// What happens.
    #[default]
    Info,
    /// How it happens.
    Debug,
    /// Every step.
    Trace,
}

impl LogLevel {
    /// The level's name.
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

/// How lines of the log look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    #[default]
    Json,
    /// For the eye.
    Text,
}

/// How outgoing requests leave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outbound {
    /// Proxy for `https` addresses; absent: none.
    pub https_proxy: Option<Secret>,
    /// Proxy for `http` addresses; absent: none.
    pub http_proxy: Option<Secret>,
    /// Hosts reached without a proxy, between commas.
    pub no_proxy: String,
    /// A PEM file of trusted roots in the place of the built-in ones.
    pub ssl_cert_file: Option<PathBuf>,
    /// Folders of such files, between colons.
    pub ssl_cert_dir: Option<String>,
}

/// When changed files of `--config-dir` are read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloading {
    /// Files are watched. Default true.
    pub notify_enabled: bool,
    /// They are looked at again and again where the system cannot tell of changes. Default false.
    pub poller_enabled: bool,
    /// How often. Default 10 s.
    pub poller_interval: Duration,
    /// At a signal. Default false.
    pub signal_enabled: bool,
    /// Which one. Default 10 (SIGUSR1).
    pub signal_number: i32,
    /// How long it must be quiet first. Default 5 s.
    pub grace_period: Duration,
}

impl Default for Reloading {
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

/// Reads and checks all settings. On failure every problem is told, not only the first.
pub fn load(vars: &Vars) -> Result<Config, Vec<Problem>> {
    let mut draft = Draft::default();
    for section in settings::SECTIONS {
        for setting in section.rows {
            for member in setting.family.members() {
                setting.read(vars, member, &mut draft);
            }
        }
    }
    draft.config.notices.extend(vars.notices().iter().cloned());
    note_unknown(vars, &mut draft);
    check::finish(draft)
}

/// Unknown variables are passed over, as the reference does, with a word on what they may have been meant to be.
fn note_unknown(vars: &Vars, draft: &mut Draft) {
    let known = settings::names();
    let ours = |name: &&str| name.starts_with("GOTRUE_") || name.starts_with("BASALT_");
    for name in vars.names().filter(ours).filter(|name| !known.contains_key(*name)) {
        let notice = match nearest(name, known.keys().map(String::as_str)) {
            Some(meant) => Notice::warning(name, format!("is not known and has no effect. Did you mean {meant}?")),
            None => Notice::debug(name, "is not known and has no effect"),
        };
        draft.config.notices.push(notice);
    }
}

/// The name of a hook in its variables, in lower case.
fn hook_key(kind: HookKind) -> &'static str {
    match kind {
        HookKind::SendSms => "send_sms",
        HookKind::SendEmail => "send_email",
        HookKind::CustomAccessToken => "custom_access_token",
        HookKind::MfaVerificationAttempt => "mfa_verification_attempt",
        HookKind::PasswordVerificationAttempt => "password_verification_attempt",
        HookKind::BeforeUserCreated => "before_user_created",
        HookKind::AfterUserCreated => "after_user_created",
    }
}

/// Texts by name.
type Texts = BTreeMap<String, String>;
