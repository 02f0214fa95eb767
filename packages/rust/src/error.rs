//! Errors: what is wrong, and what to do next.

use std::time::Duration;

use reqwest::StatusCode;

/// A refused call, or a server that cannot be started or reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The test API refused the call.
    #[error("{message} ({code}): {hint}")]
    Refused {
        /// The status of the response.
        status: StatusCode,
        /// A stable name, such as `not_found`.
        code: String,
        /// What is wrong.
        message: String,
        /// What to do next.
        hint: String,
    },
    /// The server gave no response, or one that is no JSON.
    #[error("the test API gave no usable response: {0}; check that the server still runs")]
    Unreachable(#[from] reqwest::Error),
    /// The binary cannot be run.
    #[error("{binary} cannot be run: {cause}; put basalt on the PATH, or set BASALT_BIN to its path")]
    Binary {
        /// The path.
        binary: String,
        /// The reason.
        cause: std::io::Error,
    },
    /// The server ended before it served.
    #[error("{binary} ended before it served: {log}")]
    Start {
        /// The path.
        binary: String,
        /// The end of its log.
        log: String,
    },
    /// No message came in time.
    #[error("no new message to {to} within {wait:?}; {seen}")]
    NoMessage {
        /// The recipient.
        to: String,
        /// The length of the wait.
        wait: Duration,
        /// The messages that the world has.
        seen: String,
    },
}
