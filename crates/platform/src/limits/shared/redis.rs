//! Counters in a Valkey or Redis server, changed by one script.

use std::sync::{Arc, Mutex};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use foundation::limit_store::RedisAddress;
use rustls::ClientConfig;
use tokio::sync::Semaphore;

use super::connection::{Node, RedisConnection, answers_plain_text, build_tls_config};
use super::error::StoreError;
use super::operation::{StoreOperation, StoreOutcome};
use super::redirection::{Redirection, parse_redirection};
use super::reply::RedisReply;
use crate::limits::counters::lock;

const SCRIPT: &str = include_str!("count.lua");
/// The largest number of connections, and of commands at the same time.
const MAX_CONNECTIONS: usize = 64;
/// The largest number of connections that are kept.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// The connections to a server.
#[derive(Debug)]
pub(super) struct RedisStore {
    address: RedisAddress,
    tls: Option<Arc<ClientConfig>>,
    /// The name of the script, as the server computes it.
    script: String,
    idle: Mutex<Vec<RedisConnection>>,
    /// The node of a cluster that has the keys, if it is another one.
    moved_to: Mutex<Option<(String, u16)>>,
    permits: Semaphore,
}

impl RedisStore {
    /// Creates a store that connects on first use.
    pub(super) fn new(address: RedisAddress) -> Result<Self, StoreError> {
        let tls = if address.is_tls { Some(build_tls_config()?) } else { None };
        let script = hex::encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, SCRIPT.as_bytes()).as_ref());
        let (idle, moved_to) = Default::default();
        Ok(Self { address, tls, script, idle, moved_to, permits: Semaphore::new(MAX_CONNECTIONS) })
    }

    /// Waits until the server answers without TLS although it is configured with TLS.
    ///
    /// Does not end otherwise.
    pub(super) async fn wait_for_plain_text(&self) {
        let node = Node { host: &self.address.host, port: self.address.port };
        if self.tls.is_none() || !answers_plain_text(node).await.unwrap_or(false) {
            std::future::pending::<()>().await;
        }
    }

    /// Applies the operations.
    pub(super) async fn run(&self, operations: &[StoreOperation]) -> Result<Vec<StoreOutcome>, StoreError> {
        let _permit = self.permits.acquire().await;
        let command = ScriptCall::new(operations);
        let reused = lock(&self.idle).pop();
        let Some(connection) = reused else { return self.run_on_new(&command).await };
        match self.run_on(connection, &command).await {
            // The server closed the idle connection, for example because it was restarted.
            Err(StoreError::Io(_)) => {
                lock(&self.idle).clear();
                self.run_on_new(&command).await
            }
            Err(StoreError::Redirected(node)) => self.run_redirected(node, &command).await,
            outcome => outcome,
        }
    }

    async fn run_on_new(&self, command: &ScriptCall) -> Result<Vec<StoreOutcome>, StoreError> {
        match self.run_on(self.open().await?, command).await {
            Err(StoreError::Redirected(node)) => self.run_redirected(node, command).await,
            outcome => outcome,
        }
    }

    /// Runs the command on the node that the cluster named, and keeps to it if the keys have moved there.
    async fn run_redirected(&self, to: Redirection, command: &ScriptCall) -> Result<Vec<StoreOutcome>, StoreError> {
        let host = to.host.clone().unwrap_or_else(|| self.current_node().0);
        if to.is_once {
            let mut connection = self.connect(&host, to.port).await?;
            connection.require_ok(&[b"ASKING"]).await?;
            return match connection.send(&command.parts(b"EVAL", SCRIPT.as_bytes())).await? {
                RedisReply::Integers(integers) => decode_outcomes(&integers),
                RedisReply::Error(text) => Err(StoreError::Refused(text)),
                _ => Err(super::reply::MalformedReply.into()),
            };
        }
        *lock(&self.moved_to) = Some((host, to.port));
        self.run_on(self.open().await?, command).await
    }

    fn current_node(&self) -> (String, u16) {
        lock(&self.moved_to).clone().unwrap_or_else(|| (self.address.host.clone(), self.address.port))
    }

    async fn open(&self) -> Result<RedisConnection, StoreError> {
        let (host, port) = self.current_node();
        let opened = self.connect(&host, port).await;
        if opened.is_err() {
            *lock(&self.moved_to) = None;
        }
        opened
    }

    async fn connect(&self, host: &str, port: u16) -> Result<RedisConnection, StoreError> {
        RedisConnection::open(Node { host, port }, &self.address, self.tls.as_ref()).await
    }

    async fn run_on(
        &self,
        mut connection: RedisConnection,
        command: &ScriptCall,
    ) -> Result<Vec<StoreOutcome>, StoreError> {
        let mut reply = connection.send(&command.parts(b"EVALSHA", self.script.as_bytes())).await?;
        if matches!(&reply, RedisReply::Error(text) if text.starts_with("NOSCRIPT")) {
            reply = connection.send(&command.parts(b"EVAL", SCRIPT.as_bytes())).await?;
        }
        match reply {
            RedisReply::Integers(integers) => {
                let mut idle = lock(&self.idle);
                if idle.len() < MAX_IDLE_CONNECTIONS {
                    idle.push(connection);
                }
                decode_outcomes(&integers)
            }
            RedisReply::Error(text) => {
                lock(&self.idle).clear();
                match parse_redirection(&text) {
                    Some(node) => Err(StoreError::Redirected(node)),
                    None => Err(StoreError::Refused(text)),
                }
            }
            _ => Err(super::reply::MalformedReply.into()),
        }
    }
}

/// The arguments of the script.
struct ScriptCall {
    count: String,
    arguments: Vec<String>,
}

impl ScriptCall {
    fn new(operations: &[StoreOperation]) -> Self {
        let keys = operations.iter().map(|operation| operation.key.clone());
        let values = operations.iter().flat_map(|StoreOperation { kind, rate, size, span, .. }| {
            [kind.as_str().to_owned(), rate.to_string(), size.to_string(), span.to_string()]
        });
        Self { count: operations.len().to_string(), arguments: keys.chain(values).collect() }
    }

    fn parts<'a>(&'a self, command: &'a [u8], script: &'a [u8]) -> Vec<&'a [u8]> {
        let mut parts = vec![command, script, self.count.as_bytes()];
        parts.extend(self.arguments.iter().map(String::as_bytes));
        parts
    }
}

fn decode_outcomes(integers: &[i64]) -> Result<Vec<StoreOutcome>, StoreError> {
    let pairs = integers.chunks_exact(2);
    #[expect(clippy::cast_precision_loss, reason = "a wait is at most a day")]
    let outcomes = pairs.map(|pair| StoreOutcome::decode(pair[0], pair[1] as f64 / 1e6));
    outcomes.collect::<Option<_>>().ok_or(super::reply::MalformedReply.into())
}
