//! Connections to a database that may be behind a connection pooler.
//!
//! A pooler in transaction mode runs each transaction of a connection on another session of the database: settings and
//! prepared statements of the session are lost, or are those of another client. Behind one, statements are sent as text
//! with literals, and each transaction begins with its own settings
//! (`docs/decisions/0092-statements-without-preparation-behind-poolers.md`).

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::opening::open_connection;
use super::quoting::quote_identifier;

/// Whether statements are prepared on the session of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatementMode {
    /// Prepared, unless a pooler may be between this process and the database.
    #[default]
    Detect,
    /// Prepared: there is no pooler, or it keeps a session for each connection.
    Prepare,
    /// Sent as text in one message each, which any pooler permits.
    Text,
}

/// Settings of each transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSettings {
    /// The schema of unqualified names.
    pub search_path: String,
    /// The time after which the database cancels a statement; zero for never.
    pub statement_timeout: Duration,
}

/// A setting that only a session started by this process has.
const MARKER: &str = "basalt.direct";
/// The parameters of a database URL that select the mode, named as in the reference's driver.
const URL_PARAMETERS: [&str; 3] = ["statement_cache_mode", "prefer_simple_protocol", "statement_cache_capacity"];

impl StatementMode {
    /// Returns the mode that the parameters of a database URL select, and the URL without them.
    ///
    /// # Errors
    /// A parameter has an unknown value; the text names the permitted ones.
    pub fn take_from_url(url: &str) -> Result<(Self, String), String> {
        let Some((address, query)) = url.split_once('?') else { return Ok((Self::Detect, url.to_owned())) };
        let parameter = |part: &str| part.split_once('=').map_or(part.to_owned(), |(name, _)| name.to_owned());
        let (taken, kept): (Vec<&str>, Vec<&str>) =
            query.split('&').partition(|part| URL_PARAMETERS.contains(&parameter(part).as_str()));
        let mut mode = Self::Detect;
        for part in taken {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            mode = match (name, value) {
                ("statement_cache_mode", "prepare") if mode != Self::Text => Self::Prepare,
                ("statement_cache_mode", "describe")
                | ("prefer_simple_protocol", "1" | "t" | "T" | "true" | "TRUE" | "True")
                | ("statement_cache_capacity", "0") => Self::Text,
                ("statement_cache_mode", "prepare")
                | ("prefer_simple_protocol", "0" | "f" | "F" | "false" | "FALSE" | "False") => mode,
                ("statement_cache_capacity", number) if number.parse::<u32>().is_ok() => mode,
                _ => return Err(describe_problem(name, value)),
            };
        }
        let url = if kept.is_empty() { address.to_owned() } else { format!("{address}?{}", kept.join("&")) };
        Ok((mode, url))
    }
}

fn describe_problem(name: &str, value: &str) -> String {
    let permitted = match name {
        "statement_cache_mode" => "prepare (no pooler, or one in session mode) or describe (a pooler)",
        "prefer_simple_protocol" => "true (a pooler) or false",
        _ => "a number; 0 means a pooler",
    };
    format!("the database's URL has {name}={value}; {name} takes {permitted}")
}

impl SessionSettings {
    /// The statements that set these settings until the end of the transaction.
    pub(super) fn to_sql(&self) -> String {
        let limit = self.statement_timeout.as_millis();
        let schema = quote_identifier(&self.search_path);
        format!("SET LOCAL search_path = {schema}; SET LOCAL statement_timeout = {limit}; ")
    }

    /// Adds these settings to the start of a session.
    #[must_use]
    pub fn apply(&self, connect: PgConnectOptions) -> PgConnectOptions {
        let limit = self.statement_timeout.as_millis().to_string();
        connect.options([("search_path", self.search_path.as_str()), ("statement_timeout", &limit)])
    }
}

/// Opens connections and determines for each whether statements can be prepared on it.
#[derive(Debug)]
pub(super) struct Connector {
    /// Without settings of the session.
    plain: PgConnectOptions,
    direct: PgConnectOptions,
    mode: StatementMode,
    /// Whether a pooler refused the settings of the session.
    is_refused: AtomicBool,
    is_logged: AtomicBool,
}

/// A new connection.
pub(super) struct Opened {
    pub(super) connection: PgConnection,
    /// Whether statements may be prepared on it.
    pub(super) is_direct: bool,
}

impl Connector {
    pub(super) fn new(plain: PgConnectOptions, session: Option<&SessionSettings>, mode: StatementMode) -> Self {
        let direct = session.map_or_else(|| plain.clone(), |session| session.apply(plain.clone()));
        Self { plain, direct, mode, is_refused: AtomicBool::new(false), is_logged: AtomicBool::new(false) }
    }

    /// The connection settings without those of the session.
    pub(super) fn plain_options(&self) -> &PgConnectOptions {
        &self.plain
    }

    /// The connection settings with those of the session, unless a pooler does not permit them.
    pub(super) fn session_options(&self) -> &PgConnectOptions {
        if self.mode == StatementMode::Text || self.is_refused.load(Ordering::Relaxed) {
            &self.plain
        } else {
            &self.direct
        }
    }

    pub(super) async fn open(&self) -> sqlx::Result<Opened> {
        match self.mode {
            StatementMode::Prepare => {
                let connection = open_connection(&self.direct).await.map_err(explain_refusal)?;
                Ok(Opened { connection, is_direct: true })
            }
            StatementMode::Text => self.open_plain().await,
            StatementMode::Detect if self.is_refused.load(Ordering::Relaxed) => self.open_plain().await,
            StatementMode::Detect => self.detect().await,
        }
    }

    async fn open_plain(&self) -> sqlx::Result<Opened> {
        Ok(Opened { connection: open_connection(&self.plain).await?, is_direct: false })
    }

    async fn detect(&self) -> sqlx::Result<Opened> {
        let marked = self.direct.clone().options([(MARKER, "on")]);
        let mut connection = match open_connection(&marked).await {
            Err(error) if is_refusal(&error) => {
                let opened = self.open_plain().await?;
                self.is_refused.store(true, Ordering::Relaxed);
                self.log("it refuses settings of a session");
                return Ok(opened);
            }
            connected => connected?,
        };
        let pooled = self.find_pooler(&mut connection).await?;
        if let Some(reason) = pooled {
            self.log(reason);
        }
        Ok(Opened { connection, is_direct: pooled.is_none() })
    }

    /// Returns why a pooler may be in between.
    ///
    /// Network address translation and TCP proxies change the address, too: then nothing is prepared, which is slower
    /// and always right.
    async fn find_pooler(&self, connection: &mut PgConnection) -> sqlx::Result<Option<&'static str>> {
        let sql = format!(
            "SELECT current_setting('{MARKER}', true) = 'on', EXISTS (SELECT FROM pg_catalog.pg_prepared_statements),
                    host(inet_server_addr()), coalesce(inet_server_port(), current_setting('port')::int)"
        );
        let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(connection).await?;
        if row.try_get::<Option<bool>, _>(0)? != Some(true) {
            return Ok(Some("the session lacks the settings that it was started with"));
        }
        if row.try_get(1)? {
            return Ok(Some("the new session has statements of an earlier connection"));
        }
        let (address, port): (Option<String>, i32) = (row.try_get(2)?, row.try_get(3)?);
        let is_expected = port == i32::from(self.plain.get_port()) && self.has_address(address).await;
        Ok((!is_expected).then_some("the database has another address than the one in its URL"))
    }

    async fn has_address(&self, address: Option<String>) -> bool {
        let is_socket = self.plain.get_socket().is_some() || self.plain.get_host().starts_with('/');
        let Some(address) = address.and_then(|address| address.parse::<IpAddr>().ok()) else { return is_socket };
        if is_socket {
            return false;
        }
        let found = tokio::net::lookup_host((self.plain.get_host(), self.plain.get_port())).await;
        found.is_ok_and(|mut found| found.any(|one| one.ip().to_canonical() == address.to_canonical()))
    }

    fn log(&self, reason: &'static str) {
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            tracing::info!(
                reason,
                "statements are not prepared, because a connection pooler may be in front of the database; if there is \
                 none, statement_cache_mode=prepare in the database's URL prepares them"
            );
        }
    }
}

/// Whether the peer refused the start-up parameter `options`.
///
/// `PgBouncer` does so with `protocol_violation`, RDS Proxy with `feature_not_supported`.
fn is_refusal(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .is_some_and(|code| code == "08P01" || code == "0A000")
}

fn explain_refusal(error: sqlx::Error) -> sqlx::Error {
    if is_refusal(&error) {
        let text = format!("{error}; remove statement_cache_mode=prepare from the database's URL");
        return sqlx::Error::Configuration(text.into());
    }
    error
}
