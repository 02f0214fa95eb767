//! `basalt.leases`: which replica runs a periodic job.
//!
//! Expiry is by the database's time, which all replicas share.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::Result;
use super::binding::{bind, statements};
use super::pool::Pool;
use super::statement::Connection;

statements! {
    ACQUIRE = "leases.acquire": "
        INSERT INTO basalt.leases AS l (name, holder, expires_at)
        VALUES (:name, :holder, clock_timestamp() + make_interval(secs => :seconds))
        ON CONFLICT (name) DO UPDATE
        SET holder = EXCLUDED.holder,
            expires_at = EXCLUDED.expires_at
        WHERE l.holder = EXCLUDED.holder
           OR l.expires_at <= clock_timestamp()";

    RELEASE = "leases.release": "
        DELETE FROM basalt.leases
        WHERE name = :name
          AND holder = :holder";
}

/// The lease of a periodic job: at most one replica holds it.
#[derive(Debug, Clone)]
pub struct JobLease {
    pool: Pool,
    name: &'static str,
    holder: Uuid,
    duration: Duration,
}

impl JobLease {
    /// Names the lease of a job for the replica `holder`; nothing is acquired yet.
    ///
    /// Another replica takes over once `duration` has passed since the lease was last acquired.
    pub fn new(pool: Pool, name: &'static str, holder: Uuid, duration: Duration) -> Self {
        Self { pool, name, holder, duration }
    }

    /// How long an acquired lease lasts.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Acquires or renews the lease; returns whether this replica holds it.
    pub async fn acquire(&self) -> Result<bool> {
        let mut db = self.connection();
        let seconds = self.duration.as_secs_f64();
        Ok(db.execute(bind!(ACQUIRE, name: self.name, holder: self.holder, seconds)).await? > 0)
    }

    /// Ends the lease, so that another replica need not wait for its expiry.
    pub async fn release(&self) -> Result<()> {
        let mut db = self.connection();
        db.execute(bind!(RELEASE, name: self.name, holder: self.holder)).await.map(drop)
    }

    fn connection(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::default())
    }
}
