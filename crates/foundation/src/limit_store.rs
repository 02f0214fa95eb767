//! The store in which several processes share their rate limits.

use std::borrow::Cow;
use std::time::Duration;

use crate::secret::Secret;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

/// Where and how rate limits are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitStoreSettings {
    /// The store. Default: the memory of the process.
    pub url: LimitStoreUrl,
    /// What applies while the store is unreachable. Default open.
    pub on_failure: LimitStoreFailure,
    /// The beginning of the names of keys. Default `basalt`.
    pub prefix: String,
    /// The longest wait for the store's answer. Default 100 ms.
    pub timeout: Duration,
}

impl Default for LimitStoreSettings {
    fn default() -> Self {
        Self {
            url: LimitStoreUrl::Memory,
            on_failure: LimitStoreFailure::Open,
            prefix: "basalt".to_owned(),
            timeout: Duration::from_millis(100),
        }
    }
}

/// What applies while the store is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitStoreFailure {
    /// Each process counts in its memory.
    Open,
    /// Limited requests get a 503.
    Closed,
}

impl LimitStoreFailure {
    /// Parses `open` or `closed`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "open" => Some(Self::Open),
            "closed" => Some(Self::Closed),
            _ => None,
        }
    }
}

/// A store of rate limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitStoreUrl {
    /// The memory of the process.
    Memory,
    /// The database of the server.
    Postgres,
    /// A Valkey or Redis server.
    Redis(RedisAddress),
}

/// The address of a Valkey or Redis server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisAddress {
    /// The host name or address, an IPv6 address without brackets.
    pub host: String,
    /// The port. Default 6379.
    pub port: u16,
    /// Whether the connection is encrypted.
    pub is_tls: bool,
    /// The user name; `None` for the default user.
    pub user: Option<String>,
    /// The password, if the server requires one.
    pub password: Option<Secret>,
    /// The number of the database. Default 0.
    pub database: u16,
}

/// The forms of a valid URL.
const FORMS: &str =
    "is none of redis://user:password@host:6379/0, rediss:// (with TLS), valkey://, valkeys://, postgres";

impl LimitStoreUrl {
    /// Parses a URL, `postgres`, or an empty text for the memory of the process.
    ///
    /// # Errors
    ///
    /// A description of the problem, which does not repeat the URL because it can contain a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Memory),
            "postgres" => Ok(Self::Postgres),
            _ => RedisAddress::parse(text).map(Self::Redis),
        }
    }
}

impl RedisAddress {
    fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("{FORMS} ({error})"))?;
        let is_tls = match url.scheme() {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            "postgres" | "postgresql" => {
                return Err("names a database: write postgres alone for the database of the server".to_owned());
            }
            _ => return Err(FORMS.to_owned()),
        };
        if url.query().is_some() || url.fragment().is_some() {
            return Err("has parameters after ? or #, which have no meaning here".to_owned());
        }
        let host = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) if !host.to_string().is_empty() => host.to_string(),
            _ => return Err("has no host".to_owned()),
        };
        let decode = |part: &str, name: &str| {
            let decoded = percent_decode_str(part).decode_utf8();
            decoded.map(Cow::into_owned).map_err(|_| format!("has a {name} that is not UTF-8"))
        };
        let user = Some(decode(url.username(), "user name")?).filter(|user| !user.is_empty());
        let password = url.password().map(|password| decode(password, "password")).transpose()?;
        if user.is_some() && password.is_none() {
            return Err("has a user without a password: write redis://:password@host for a password alone".to_owned());
        }
        let database = match url.path().trim_start_matches('/') {
            "" => 0,
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                number.parse().map_err(|_| "has a database number above 65535".to_owned())?
            }
            _ => return Err("has a path that is not the number of a database".to_owned()),
        };
        let password = password.map(|password| Secret::from(password.as_str()));
        Ok(Self { host, port: url.port().unwrap_or(6379), is_tls, user, password, database })
    }
}
