//! Errors of the start of the embedded PostgreSQL.

/// Reasons why the database could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There are no usable binaries on this machine.
    #[error("{0}")]
    NoBinaries(String),
    /// A program of PostgreSQL failed; its output is part of the text.
    #[error("{0}")]
    Failed(String),
    /// Another process has the TCP port.
    #[error(
        "another program has port {0} on 127.0.0.1, which is to be the database's: stop that program, or set another \
         port with `[db] port` in config.toml (with `--db-port N` for a test server; 0 selects a free one)"
    )]
    PortTaken(u16),
    /// A file or folder could not be read or written.
    #[error("{doing}: {source}")]
    Io {
        /// The attempted operation, with the path.
        doing: String,
        /// The cause.
        source: std::io::Error,
    },
}

impl StartError {
    /// For `map_err`: wraps an I/O error with the attempted operation.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
