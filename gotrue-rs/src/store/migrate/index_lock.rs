//! The lock of the index worker: one of several servers creates the indexes.

use platform::store::leases::JobLease;
use platform::store::migrate::ErrorContext;
use platform::store::pool::Pool;
use sqlx::{Connection as _, PgConnection, Row};

use foundation::error_chain::ErrorChain;

use super::error::AuthMigrateError;

/// Takes the advisory lock that the reference uses, too, until the transaction ends.
///
/// The transaction has no snapshot when its statement is over, so that no index waits for it.
const TRANSACTION: &str = "BEGIN;
    SET LOCAL idle_in_transaction_session_timeout = 0;
    SELECT pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtext('auth_index_worker')::bigint)";

/// The lock while it is held.
pub(super) enum IndexLock<'a> {
    /// A row of `basalt.leases`.
    Lease(&'a JobLease),
    /// An open transaction, in a database without schema `basalt`.
    ///
    /// A pooler in transaction mode keeps a session for it until it ends.
    Transaction(Box<PgConnection>),
}

impl<'a> IndexLock<'a> {
    /// Tries to take the lock; `None` if another server has it.
    pub(super) async fn acquire(pool: &Pool, lease: Option<&'a JobLease>) -> Result<Option<Self>, AuthMigrateError> {
        let Some(lease) = lease else { return Self::begin(pool).await };
        let is_holder = lease.acquire().await.map_err(AuthMigrateError::Lease)?;
        Ok(is_holder.then_some(Self::Lease(lease)))
    }

    async fn begin(pool: &Pool) -> Result<Option<Self>, AuthMigrateError> {
        let connected = pool.connect_beside().await;
        let (mut connection, _) = connected.during("connecting for the lock of the index worker")?;
        let locked = async {
            let rows = sqlx::raw_sql(TRANSACTION).fetch_all(&mut connection).await?;
            rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)
        };
        let is_locked: bool = locked.await.during("acquiring the lock of the index worker")?;
        let lock = Self::Transaction(Box::new(connection));
        if is_locked {
            return Ok(Some(lock));
        }
        lock.release().await;
        Ok(None)
    }

    /// Keeps a lease from expiring; ends when another server has it.
    pub(super) async fn renew(&self) {
        let Self::Lease(lease) = self else { return std::future::pending().await };
        loop {
            tokio::time::sleep(lease.duration() / 3).await;
            match lease.acquire().await {
                Ok(true) => {}
                Ok(false) => {
                    tracing::warn!("the lease of the index worker expired, and another server took it");
                    return;
                }
                Err(error) => {
                    tracing::warn!(error = %ErrorChain(&error), "the lease of the index worker could not be renewed");
                }
            }
        }
    }

    /// Ends the lock.
    pub(super) async fn release(self) {
        match self {
            Self::Lease(lease) => {
                if let Err(error) = lease.release().await {
                    tracing::debug!(error = %ErrorChain(&error), "the lease of the index worker stays until it expires");
                }
            }
            // The transaction has written nothing: whether it is committed does not matter.
            Self::Transaction(mut connection) => {
                drop(sqlx::raw_sql("ROLLBACK").execute(&mut *connection).await);
                drop(connection.close().await);
            }
        }
    }
}
