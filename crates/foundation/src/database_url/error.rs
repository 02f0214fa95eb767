//! Why a text is not the URL of a database.

/// The greatest length of a URL in bytes.
pub(super) const MAX_LENGTH: usize = 8 * 1024;
/// The greatest number of servers.
pub(super) const MAX_SERVERS: usize = 16;

/// Why a text is not the URL of a database.
///
/// The text itself, which may hold a password, is not part of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    /// The scheme is another one.
    #[error("is not a URL of a PostgreSQL database: it must start with postgres:// or postgresql://")]
    Scheme,
    /// The text is too long.
    #[error("has more than {MAX_LENGTH} bytes")]
    Length,
    /// There are too many servers.
    #[error("lists more than {MAX_SERVERS} servers")]
    TooManyServers,
    /// A host is missing in the list.
    #[error("lists a server without a host: write host1:5432,host2:5432")]
    EmptyHost,
    /// A port is not a number from 1 to 65535.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// The parameters list a different number of ports than hosts.
    #[error("lists {ports} ports for {hosts} hosts: give one port for all, or one for each")]
    PortCount {
        /// The number of hosts.
        hosts: usize,
        /// The number of ports.
        ports: usize,
    },
    /// `target_session_attrs` has an unknown value.
    #[error(
        "has a target_session_attrs that is none of any, read-write, read-only, primary, standby and prefer-standby"
    )]
    Target,
    /// A parameter is not a number in its range.
    #[error("has a {name} that is not a number from 0 to {greatest}")]
    Number {
        /// The parameter.
        name: &'static str,
        /// The greatest value.
        greatest: u32,
    },
}
