//! Failures of the store of rate limits.

use super::redirection::Redirection;
use super::reply::MalformedReply;

/// Codes of refusals that do not end by themselves: credentials, permissions, protected mode.
const PERMANENT: [&str; 4] = ["WRONGPASS ", "NOAUTH ", "NOPERM ", "DENIED "];

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
    #[error("another node of the cluster has the keys of rate limits: {0}")]
    Redirected(Redirection),
    /// The server answers without TLS at the port that is configured with TLS.
    #[error(
        "the store of rate limits answers without TLS at this port: use redis:// (valkey://), or its port with TLS"
    )]
    PlainText,
    #[error(transparent)]
    Malformed(#[from] MalformedReply),
    /// The database failed.
    #[error("counting rate limits in the database failed: {0}")]
    Database(#[from] crate::store::Error),
    /// There was no answer in time.
    #[error("the store of rate limits did not answer in time")]
    Timeout,
}

impl StoreError {
    /// Whether the store refuses until its settings or those of this server are changed.
    ///
    /// A store that is down, loading, full or read-only may be usable later.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Refused(text) => {
                let is_other = text.starts_with("ERR ") && !text.starts_with("ERR max number of clients");
                is_other || PERMANENT.iter().any(|code| text.starts_with(code))
            }
            Self::Malformed(_) | Self::PlainText => true,
            // An untrusted certificate, or a server without TLS.
            Self::Io(error) => matches!(error.get_ref(), Some(cause) if cause.is::<rustls::Error>()),
            Self::Redirected(_) | Self::Database(_) | Self::Timeout => false,
        }
    }
}
