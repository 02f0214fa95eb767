//! The TCP port of the embedded PostgreSQL.

use std::net::{Ipv4Addr, TcpListener};

use super::start_error::StartError;

/// Starts with another free port before giving up.
const ATTEMPTS_WITH_FREE_PORT: u32 = 5;

/// The port on 127.0.0.1 on which the server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TcpPort {
    /// It listens on its socket only.
    None,
    /// A free port.
    Free,
    /// This port.
    Fixed(u16),
}

impl TcpPort {
    /// Returns the port to start with.
    ///
    /// Another process may take a free one before the server binds it.
    pub(crate) fn choose(self) -> Result<Option<u16>, StartError> {
        let find_free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        match self {
            Self::None => Ok(None),
            Self::Fixed(port) => Ok(Some(port)),
            Self::Free => Ok(Some(find_free().map_err(StartError::io("finding a free port"))?.port())),
        }
    }

    /// Returns how often to try to start.
    pub(crate) fn attempts(self) -> u32 {
        if self == Self::Free { ATTEMPTS_WITH_FREE_PORT } else { 1 }
    }
}
