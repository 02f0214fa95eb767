//! `basalt.replicas`: the servers on this database, with digests of what they must agree on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use super::Result;
use super::binding::{bind, statements};
use super::pool::Pool;
use super::statement::Connection;

statements! {
    #[repeatable]
    TABLE_EXISTS = "replicas.table_exists":
        "SELECT to_regclass('basalt.replicas') IS NOT NULL AS holds";

    /// One registration at a time compares and inserts; heartbeats do not wait for it.
    LOCK = "replicas.lock":
        "SELECT pg_advisory_xact_lock(hashtext('basalt.replicas')::bigint)";

    #[repeatable]
    LIST_LIVE = "replicas.list_live": "
        SELECT id, version, EXTRACT(epoch FROM clock_timestamp() - seen_at)::bigint AS age, fingerprints
        FROM basalt.replicas
        WHERE seen_at > clock_timestamp() - make_interval(secs => :seconds)
        ORDER BY started_at";

    DELETE_DEAD = "replicas.delete_dead": "
        DELETE FROM basalt.replicas
        WHERE seen_at <= clock_timestamp() - make_interval(secs => :seconds)";

    UPSERT = "replicas.upsert": "
        INSERT INTO basalt.replicas AS r (id, version, started_at, seen_at, fingerprints)
        VALUES (:id, :version, clock_timestamp(), clock_timestamp(), :fingerprints)
        ON CONFLICT (id) DO UPDATE
        SET seen_at = EXCLUDED.seen_at,
            fingerprints = EXCLUDED.fingerprints";

    DELETE = "replicas.delete": "DELETE FROM basalt.replicas WHERE id = :id";
}

/// A replica that has been seen lately.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveReplica {
    /// Its id.
    pub id: Uuid,
    /// Its version.
    pub version: String,
    /// Seconds since it was last seen.
    pub age: i64,
    /// Its fingerprints, by name.
    pub fingerprints: Value,
}

/// The table of replicas, for one of them.
#[derive(Debug, Clone)]
pub struct ReplicaTable {
    pool: Pool,
    id: Uuid,
    expiry: Duration,
}

impl ReplicaTable {
    /// Names the row of the replica `id`; a replica that was not seen for `expiry` counts as ended.
    pub fn new(pool: Pool, id: Uuid, expiry: Duration) -> Self {
        Self { pool, id, expiry }
    }

    /// Returns whether the database has the table.
    pub async fn exists(&self) -> Result<bool> {
        let found: (bool,) = self.connection().fetch_one(bind!(TABLE_EXISTS)).await?;
        Ok(found.0)
    }

    /// Registers this replica, unless `accept` objects to the live ones.
    ///
    /// Then the objection is returned.
    ///
    /// Replicas that start at the same time are compared one after the other.
    pub async fn register<E>(
        &self,
        version: &str,
        fingerprints: &Value,
        accept: impl FnOnce(&[LiveReplica]) -> std::result::Result<(), E>,
    ) -> Result<std::result::Result<(), E>> {
        let mut db = Connection::begin(&self.pool, Arc::default()).await?;
        db.fetch_all::<()>(bind!(LOCK)).await?;
        let seconds = self.expiry.as_secs_f64();
        db.execute(bind!(DELETE_DEAD, seconds)).await?;
        let mut live = fetch_live(&mut db, self.expiry).await?;
        live.retain(|replica| replica.id != self.id);
        if let Err(objection) = accept(&live) {
            db.rollback().await?;
            return Ok(Err(objection));
        }
        db.execute(bind!(UPSERT, id: self.id, version, fingerprints: Json(fingerprints))).await?;
        db.commit().await?;
        Ok(Ok(()))
    }

    /// Records that this replica runs; restores its row if another one has deleted it.
    pub async fn heartbeat(&self, version: &str, fingerprints: &Value) -> Result<()> {
        let mut db = self.connection();
        db.execute(bind!(UPSERT, id: self.id, version, fingerprints: Json(fingerprints))).await.map(drop)
    }

    /// Counts the live replicas, this one included.
    pub async fn count_live(&self) -> Result<usize> {
        Ok(self.list_live().await?.len())
    }

    /// Lists the live replicas, this one included.
    pub async fn list_live(&self) -> Result<Vec<LiveReplica>> {
        fetch_live(&mut self.connection(), self.expiry).await
    }

    /// Deletes the row of this replica.
    pub async fn unregister(&self) -> Result<()> {
        self.connection().execute(bind!(DELETE, id: self.id)).await.map(drop)
    }

    fn connection(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::default())
    }
}

async fn fetch_live(db: &mut Connection, expiry: Duration) -> Result<Vec<LiveReplica>> {
    let rows: Vec<(Uuid, String, i64, Json<Value>)> =
        db.fetch_all(bind!(LIST_LIVE, seconds: expiry.as_secs_f64())).await?;
    let build = |(id, version, age, Json(fingerprints))| LiveReplica { id, version, age, fingerprints };
    Ok(rows.into_iter().map(build).collect())
}
