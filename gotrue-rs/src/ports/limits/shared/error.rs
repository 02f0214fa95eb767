//! Failures of the store of rate limits.

use super::reply::MalformedReply;

/// Why the store did not count.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The connection failed.
    #[error("the connection to the store of rate limits failed: {0}")]
    Io(#[from] std::io::Error),
    /// The store refused the command.
    #[error("the store of rate limits refused the command: {0}")]
    Refused(String),
    /// Another node of the cluster has the keys.
    #[error("another node of the cluster has the keys of rate limits")]
    Moved,
    /// The reply is malformed.
    #[error(transparent)]
    Malformed(#[from] MalformedReply),
    /// The database failed.
    #[error("counting rate limits in the database failed: {0}")]
    Database(#[from] crate::store::Error),
    /// There was no answer in time.
    #[error("the store of rate limits did not answer in time")]
    Timeout,
}
