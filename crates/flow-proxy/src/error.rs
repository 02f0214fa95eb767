//! The error of creating a proxy.

/// Why a proxy cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// The URL of the server is invalid.
    #[error("{0}")]
    InvalidUrl(String),
    /// The system's root certificates cannot be read.
    #[error("no HTTPS client: {0}")]
    NoCertificates(String),
}
