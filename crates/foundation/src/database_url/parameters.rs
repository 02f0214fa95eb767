//! The parameters of a URL of a database: those about servers and waiting, and all others unchanged.

use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::error::DatabaseUrlError;
use super::session_target::SessionTarget;

/// The longest `connect_timeout` in seconds.
const MAX_CONNECT_SECONDS: u32 = 600;
/// The longest `keepalives_idle` and `keepalives_interval` in seconds.
const MAX_KEEPALIVE_SECONDS: u32 = 86_400;
/// The greatest `keepalives_count`.
const MAX_KEEPALIVE_COUNT: u32 = 1_000;
/// The longest `tcp_user_timeout` in milliseconds.
const MAX_USER_TIMEOUT: u32 = 3_600_000;
/// The parameters that name servers.
const LOCATION: [&str; 3] = ["host", "hostaddr", "port"];
/// The parameters that the driver reads, with their other spellings.
const DRIVER: [&str; 14] = [
    "application_name",
    "dbname",
    "options",
    "password",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];
/// The parameter that names a certificate authority, with its other spellings.
const TRUSTED_ROOT: [&str; 3] = ["sslrootcert", "ssl-root-cert", "ssl-ca"];
/// What is encoded in the value of a parameter.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'&').add(b'+').add(b'<').add(b'>');

/// `keepalives*` and `tcp_user_timeout`: when connections are tested and how long a test may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keepalives {
    /// `keepalives_idle`: the idle time after which a connection is tested.
    ///
    /// `None` for no tests in the background.
    pub idle: Option<Duration>,
    /// The maximum time of a test: `tcp_user_timeout`, else `keepalives_interval` times `keepalives_count`.
    pub limit: Option<Duration>,
}

/// The parameters of a URL.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    pub(super) target: Option<SessionTarget>,
    pub(super) connect_timeout: Option<Duration>,
    are_keepalives_off: bool,
    idle: Option<Duration>,
    interval: Option<Duration>,
    count: Option<u32>,
    user_timeout: Option<Duration>,
    /// Whether a parameter names a certificate authority.
    pub(super) names_trusted_root: bool,
    /// The names of parameters without effect.
    pub(super) ignored: Vec<String>,
    /// The other parameters as they were written.
    pub(super) others: Vec<String>,
}

impl Parameters {
    /// Parses the part of a URL after `?`. The last of several values of a parameter counts.
    pub(super) fn parse(query: &str) -> Result<Self, DatabaseUrlError> {
        let mut parameters = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name);
            if parameters.set(&name, &decode(value))? {
                continue;
            }
            if DRIVER.contains(&&*name) || LOCATION.contains(&&*name) || name.starts_with("options[") {
                parameters.names_trusted_root |= TRUSTED_ROOT.contains(&&*name) && !value.is_empty();
                parameters.others.push(pair.to_owned());
            } else {
                parameters.ignored.push(name);
            }
        }
        Ok(parameters)
    }

    /// Stores a parameter about the choice of a server or about waiting; returns whether it is one.
    fn set(&mut self, name: &str, value: &str) -> Result<bool, DatabaseUrlError> {
        let seconds = |name, greatest| Ok(positive(parse(name, value, greatest)?).map(Duration::from_secs));
        match name {
            "target_session_attrs" => {
                self.target = Some(SessionTarget::parse(value).ok_or(DatabaseUrlError::Target)?);
            }
            "connect_timeout" => self.connect_timeout = seconds("connect_timeout", MAX_CONNECT_SECONDS)?,
            "keepalives" => self.are_keepalives_off = parse("keepalives", value, 1)? == 0,
            "keepalives_idle" => self.idle = seconds("keepalives_idle", MAX_KEEPALIVE_SECONDS)?,
            "keepalives_interval" => self.interval = seconds("keepalives_interval", MAX_KEEPALIVE_SECONDS)?,
            "keepalives_count" => {
                self.count = Some(parse("keepalives_count", value, MAX_KEEPALIVE_COUNT)?).filter(|count| *count > 0);
            }
            "tcp_user_timeout" => {
                let milliseconds = parse("tcp_user_timeout", value, MAX_USER_TIMEOUT)?;
                self.user_timeout = positive(milliseconds).map(Duration::from_millis);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// When idle connections are tested.
    pub(super) fn keepalives(&self) -> Keepalives {
        if self.are_keepalives_off {
            return Keepalives { idle: None, limit: self.user_timeout };
        }
        let by_count = self.interval.map(|interval| interval.saturating_mul(self.count.unwrap_or(1)));
        Keepalives { idle: self.idle, limit: self.user_timeout.or(by_count) }
    }

    /// The last value of a parameter that names servers.
    pub(super) fn location(&self, wanted: &str) -> Option<String> {
        let mut pairs = self.others.iter().rev().filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| *name == wanted).map(|(_, value)| decode(value))
    }

    /// Removes the parameters that name servers.
    pub(super) fn remove_location(&mut self) {
        self.others.retain(|pair| !LOCATION.contains(&pair.split('=').next().unwrap_or_default()));
    }

    /// The other parameters, with `?`.
    pub(super) fn query(&self) -> String {
        format!("?{}", self.others.join("&"))
    }

    /// The other parameters and those of a server, with `?`.
    pub(super) fn query_for(&self, host: &str, port: &str) -> String {
        let mut all = self.others.clone();
        all.push(format!("host={}", utf8_percent_encode(host, ENCODED)));
        if !port.is_empty() {
            all.push(format!("port={port}"));
        }
        format!("?{}", all.join("&"))
    }
}

/// Decodes percent-encoded text; invalid UTF-8 is replaced.
pub(super) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn parse(name: &'static str, value: &str, greatest: u32) -> Result<u32, DatabaseUrlError> {
    let number = value.trim().parse().ok().filter(|number| *number <= greatest);
    number.ok_or(DatabaseUrlError::Number { name, greatest })
}

fn positive(number: u32) -> Option<u64> {
    (number > 0).then(|| u64::from(number))
}
