//! Values of settings.

/// What the root answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenApiMode {
    /// What the role may use.
    FollowPrivileges,
    /// Everything.
    IgnorePrivileges,
    /// 404
    Disabled,
}

/// How transactions end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionEnd {
    /// Rolled back unless the client may ask for a commit.
    pub rolls_back: bool,
    /// The client may choose by `Prefer: tx=`.
    pub allows_override: bool,
}

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Failures of the server alone.
    Critical,
    /// Requests that end in 500 to 599 too.
    Error,
    /// Requests that end in 400 to 499 too.
    Warn,
    /// All requests.
    Info,
    /// All requests and what the server does.
    Debug,
}
