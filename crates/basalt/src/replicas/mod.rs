//! The replicas of one database: each registers at its start, and one whose keys differ does not start.

mod fingerprints;

use std::time::Duration;

use anyhow::{Context, bail};
use foundation::error_chain::ErrorChain;
use http_edge::ShutdownSignal;
use platform::store::Pool;
use platform::store::leases::JobLease;
use platform::store::replicas::{LiveReplica, ReplicaTable};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::upkeep::JobLeases;
pub(crate) use fingerprints::{
    Fingerprints, SIGNING_KEYS, accepts_digest, digest_of_signing_key, digest_of_value, uses_digest,
};

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);
/// A replica that was not seen for this time counts as ended.
const EXPIRY: Duration = Duration::from_secs(20);
/// How long the lease of a job lasts: another replica takes over after this time.
const JOB_LEASE: Duration = Duration::from_secs(15);
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A replica that has registered.
#[derive(Debug)]
pub(crate) struct Replica {
    table: ReplicaTable,
    fingerprints: Value,
    /// The number of replicas that were running at its registration.
    pub(crate) others: usize,
}

impl Replica {
    /// Registers a server, unless its keys differ from those of a live replica.
    ///
    /// With `allow_differences` they are logged instead.
    pub(crate) async fn register(
        pool: &Pool,
        id: Uuid,
        fingerprints: &Fingerprints,
        allow_differences: bool,
    ) -> anyhow::Result<Self> {
        let table = ReplicaTable::new(pool.clone(), id, EXPIRY);
        let mut others = 0;
        let accept = |live: &[LiveReplica]| match describe_difference(fingerprints, live) {
            Some(difference) if allow_differences => {
                others = live.len();
                tracing::warn!(difference, "the keys or settings of a running replica differ");
                Ok(())
            }
            Some(difference) => Err(difference),
            None => {
                others = live.len();
                tracing::info!(replica.id = %id, others, "registered as a replica of this database");
                Ok(())
            }
        };
        let json = fingerprints.to_json();
        match table.register(VERSION, &json, accept).await.context("registering in basalt.replicas")? {
            Ok(()) => Ok(Self { table, fingerprints: json, others }),
            Err(difference) => bail!(difference),
        }
    }

    /// Sends heartbeats until shutdown, then removes the registration.
    ///
    /// Changed fingerprints are sent at once.
    pub(crate) fn keep_alive(
        mut self,
        mut current: watch::Receiver<Value>,
        mut closing: ShutdownSignal,
    ) -> JoinHandle<()> {
        http_edge::spawn_task(async move {
            let mut turn = tokio::time::interval(HEARTBEAT_INTERVAL);
            loop {
                tokio::select! {
                    _ = closing.wait_for(|closing| *closing) => break,
                    _ = turn.tick() => {}
                    Ok(()) = current.changed() => self.fingerprints = current.borrow_and_update().clone(),
                }
                if let Err(error) = self.table.heartbeat(VERSION, &self.fingerprints).await {
                    tracing::warn!(error = %ErrorChain(&error), "the heartbeat of this replica was not recorded");
                }
            }
            if let Err(error) = self.table.unregister().await {
                tracing::debug!(error = %ErrorChain(&error), "the registration of this replica stays until it expires");
            }
        })
    }
}

/// Lists the running servers of a database.
pub(crate) async fn list_live(pool: &Pool) -> anyhow::Result<Vec<LiveReplica>> {
    let table = ReplicaTable::new(pool.clone(), Uuid::nil(), EXPIRY);
    table.list_live().await.context("reading basalt.replicas")
}

/// Returns the leases of the maintenance of the database.
pub(crate) fn job_leases(pool: &Pool, id: Uuid) -> JobLeases {
    let lease = |name| JobLease::new(pool.clone(), name, id, JOB_LEASE);
    JobLeases { cleanup: lease("cleanup"), indexes: lease("indexes"), submissions: lease("submissions") }
}

/// Returns the lease of the jobs that SQL of a project schedules.
pub(crate) fn database_job_lease(pool: &Pool, id: Uuid) -> JobLease {
    JobLease::new(pool.clone(), "database_jobs", id, JOB_LEASE)
}

/// Describes the first live replica that differs, and what to do.
fn describe_difference(ours: &Fingerprints, live: &[LiveReplica]) -> Option<String> {
    live.iter().find_map(|replica| {
        let names = ours.list_differences(replica);
        (!names.is_empty()).then(|| {
            format!(
                "another server uses this database with a different value of {}: replica {} of version {}, seen {} s ago. \
                 Give all replicas the same values in config.toml, or copy keys.json of its data folder. `basalt keys` rotates \
                 keys without a difference. A server that has crashed counts for {} s; \
                 [basalt.replicas] allow_differences = true starts anyway",
                names.join(", "),
                replica.id,
                replica.version,
                replica.age,
                EXPIRY.as_secs()
            )
        })
    })
}
