//! The verdict on a password, or why there is none.

use std::time::Duration;

/// The maximum password length in bytes for every algorithm; bcrypt reads no more.
pub const MAX_PASSWORD_BYTES: usize = 72;

/// The result of comparing a password with a stored hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordVerdict {
    /// The password matches.
    Match,
    /// The password does not match.
    NoMatch,
    /// An argon2 or Firebase hash that cannot be checked, with the reason; treated like a wrong password.
    Unusable(&'static str),
    /// Not a known hash format, with the reason; treated as a server error.
    Unreadable(&'static str),
}

/// Why no hash was computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HashingError {
    /// The queue is full, or longer than the time that the request has left.
    ///
    /// The caller responds with 429 or 503 and this `Retry-After`.
    #[error("{waiting} password hashes are waiting already; try again in {} s", retry_after.as_secs())]
    Busy {
        /// The number of queued jobs.
        waiting: usize,
        /// The estimated time to empty the queue, in whole seconds, at least one.
        retry_after: Duration,
    },
    /// The password exceeds the maximum length; handlers reject it earlier.
    #[error("the password has {0} bytes; at most {MAX_PASSWORD_BYTES} can be hashed")]
    TooLong(usize),
    /// Parameters that the algorithm does not accept.
    #[error("cannot hash with these parameters: {0}")]
    Parameters(String),
    /// The client of the request disconnected before the job started.
    #[error("the client disconnected before its password was hashed")]
    ClientGone,
    /// The hashing thread panicked.
    #[error("a hashing thread panicked; see its log entry")]
    Failed,
}
