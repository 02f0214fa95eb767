//! The servers of a database: which one is used, and whether a connection is still usable.
//!
//! A server is used if its session is of the wanted kind ([`SessionTarget`]). After a failure all servers are tried at
//! the same time and repeatedly, so that a promoted standby is found as soon as it accepts connections.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use foundation::database_url::SessionTarget;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection, Row};
use tokio::time::{Instant, sleep, timeout_at};

use super::pool_options::PoolOptions;
use super::pooler::{Connector, Opened};

/// The time after which the other servers are tried too while the last used one has not answered.
const OTHERS_AFTER: Duration = Duration::from_millis(100);
/// The interval between attempts at a server that refused, while another one has not answered.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// The state of a session; the names are qualified, so that no search path changes their meaning.
const SESSION_STATE: &str =
    "SELECT pg_catalog.pg_is_in_recovery()::text, pg_catalog.current_setting('transaction_read_only')";

/// The servers of a database, in the order of their list.
#[derive(Debug)]
pub(super) struct Hosts {
    servers: Vec<Connector>,
    target: SessionTarget,
    connect_timeout: Duration,
    /// The server of the latest connection.
    current: AtomicUsize,
    /// Whether a session has refused a write because it is read-only.
    has_refused_writes: AtomicBool,
}

/// An open connection and the index of its server.
#[derive(Debug)]
pub(super) struct HostConnection {
    pub(super) connection: PgConnection,
    /// Whether statements may be prepared on it.
    pub(super) is_direct: bool,
    pub(super) host: usize,
    /// Whether the connection before this one was to another server.
    pub(super) has_changed: bool,
}

type Attempt<'a> = BoxFuture<'a, (usize, sqlx::Result<Opened>)>;

impl Hosts {
    /// Creates the list; it has at least one server.
    pub(super) fn new(options: &PoolOptions) -> Self {
        let servers = std::iter::once(&options.connect).chain(&options.other_servers);
        let connector = |server: &PgConnectOptions| {
            Connector::new(server.clone(), options.session.as_ref(), options.statement_mode)
        };
        Self {
            servers: servers.map(connector).collect(),
            target: options.target,
            connect_timeout: options.connect_timeout,
            current: AtomicUsize::new(0),
            has_refused_writes: AtomicBool::new(false),
        }
    }

    /// The server of the latest connection, at the start the first one.
    pub(super) fn current(&self) -> &Connector {
        &self.servers[self.current.load(Ordering::Relaxed)]
    }

    /// Whether connections to this server are still wanted.
    ///
    /// Of a primary and its standbys only the current server is.
    pub(super) fn is_wanted(&self, host: usize) -> bool {
        !self.target.is_primary() || host == self.current.load(Ordering::Relaxed)
    }

    /// Records that a session refused a write. From now on such sessions are found when they are tested.
    pub(super) fn record_refused_write(&self) {
        self.has_refused_writes.store(true, Ordering::Relaxed);
    }

    /// Tests whether a connection answers and its session is still of the wanted kind; one round trip.
    pub(super) async fn test(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        match self.target {
            SessionTarget::Any if self.has_refused_writes.load(Ordering::Relaxed) => {
                check_session(connection, SessionTarget::ReadWrite).await
            }
            SessionTarget::Any | SessionTarget::PreferStandby => connection.ping().await,
            target => check_session(connection, target).await,
        }
    }

    /// Connects to a server with a session of the wanted kind.
    pub(super) async fn connect(&self) -> sqlx::Result<HostConnection> {
        let now = Instant::now();
        let deadline = now + self.connect_timeout;
        if self.target != SessionTarget::PreferStandby {
            return self.connect_until(self.target, deadline).await;
        }
        match self.connect_until(SessionTarget::Standby, now + self.connect_timeout / 2).await {
            Ok(standby) => Ok(standby),
            Err(_) => self.connect_until(SessionTarget::Any, deadline).await,
        }
    }

    /// Tries the current server first, and all as soon as it refuses or takes long.
    async fn connect_until(&self, target: SessionTarget, deadline: Instant) -> sqlx::Result<HostConnection> {
        let first = self.current.load(Ordering::Relaxed);
        let mut refusals = Refusals::new(self.servers.len());
        let mut attempts: FuturesUnordered<Attempt<'_>> = FuturesUnordered::new();
        attempts.push(self.attempt(first, target, Duration::ZERO));
        let mut others_at = Some(deadline.min(Instant::now() + OTHERS_AFTER)).filter(|_| self.servers.len() > 1);
        loop {
            let answer = timeout_at(others_at.unwrap_or(deadline), attempts.next()).await;
            let refused = match answer {
                Ok(Some((host, Ok(opened)))) => return Ok(self.accept(host, opened)),
                Ok(Some((host, Err(cause)))) => Some((host, cause)),
                Err(_) if others_at.is_none() => return Err(self.failure(refusals)),
                Ok(None) | Err(_) => None,
            };
            if others_at.take().is_some() {
                let others = (0..self.servers.len()).filter(|host| *host != first);
                attempts.extend(others.map(|host| self.attempt(host, target, Duration::ZERO)));
            }
            if let Some((host, cause)) = refused {
                refusals.record(host, cause);
                if refusals.are_complete() {
                    return Err(self.failure(refusals));
                }
                attempts.push(self.attempt(host, target, RETRY_INTERVAL));
            }
        }
    }

    fn attempt(&self, host: usize, target: SessionTarget, after: Duration) -> Attempt<'_> {
        Box::pin(async move {
            if !after.is_zero() {
                sleep(after).await;
            }
            (host, open(&self.servers[host], target).await)
        })
    }

    fn accept(&self, host: usize, opened: Opened) -> HostConnection {
        let before = self.current.swap(host, Ordering::Relaxed);
        if before != host {
            let server = describe(self.servers[host].plain_options());
            tracing::warn!(server, "database connections go to another server of the list");
        }
        let Opened { connection, is_direct } = opened;
        HostConnection { connection, is_direct, host, has_changed: before != host }
    }

    /// Combines the refusals of all servers into one error.
    fn failure(&self, Refusals(mut refusals): Refusals) -> sqlx::Error {
        const NO_ANSWER: &str = "the database did not complete the connection in time";
        if let [only] = &mut *refusals {
            return only.take().unwrap_or_else(|| timed_out(NO_ANSWER.to_owned()));
        }
        if refusals.iter().all(|refusal| refusal.as_ref().is_some_and(|cause| !is_temporary(cause))) {
            return refusals.swap_remove(0).unwrap_or_else(|| timed_out(NO_ANSWER.to_owned()));
        }
        let described = self.servers.iter().zip(&refusals).map(|(server, refusal)| {
            let cause = refusal.as_ref().map_or_else(|| "no answer in time".to_owned(), ToString::to_string);
            format!("{}: {cause}", describe(server.plain_options()))
        });
        timed_out(format!("no server of the list can be used: {}", described.collect::<Vec<_>>().join("; ")))
    }
}

/// The latest refusal of each server.
struct Refusals(Vec<Option<sqlx::Error>>);

impl Refusals {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| None).collect())
    }

    fn record(&mut self, host: usize, cause: sqlx::Error) {
        self.0[host] = Some(cause);
    }

    fn are_complete(&self) -> bool {
        self.0.iter().all(Option::is_some)
    }
}

/// Whether connecting may succeed later without a change of the configuration.
///
/// A refused password, an unknown role or database, and invalid options stay; a server that is down, starting, full or
/// of the wrong kind does not.
pub fn is_temporary(cause: &sqlx::Error) -> bool {
    match cause {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            ["08", "53", "57P"].iter().any(|class| code.starts_with(class))
        }
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) => true,
        _ => false,
    }
}

async fn open(server: &Connector, target: SessionTarget) -> sqlx::Result<Opened> {
    let mut opened = server.open().await?;
    if target != SessionTarget::Any {
        check_session(&mut opened.connection, target).await?;
    }
    Ok(opened)
}

/// Refuses a session that is not of the wanted kind.
async fn check_session(connection: &mut PgConnection, target: SessionTarget) -> sqlx::Result<()> {
    let row = sqlx::raw_sql(SESSION_STATE).fetch_one(connection).await?;
    let is_standby = row.try_get_raw(0)?.as_str().map_err(sqlx::Error::Decode)? == "true";
    let is_read_only = row.try_get_raw(1)?.as_str().map_err(sqlx::Error::Decode)? == "on";
    if target.accepts(is_standby, is_read_only) {
        return Ok(());
    }
    let state = match (is_standby, is_read_only) {
        (true, _) => "is a standby",
        (false, true) => "is read-only",
        (false, false) => "is a primary",
    };
    Err(sqlx::Error::Io(std::io::Error::other(format!("the server {state}"))))
}

fn timed_out(text: String) -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, text))
}

/// Address and port, for logs and errors.
fn describe(server: &PgConnectOptions) -> String {
    match server.get_socket() {
        Some(folder) => format!("{}:{}", folder.display(), server.get_port()),
        None => format!("{}:{}", server.get_host(), server.get_port()),
    }
}
