//! The TCP port of the embedded PostgreSQL.

use std::net::{Ipv4Addr, TcpListener};

use crate::start_error::StartError;

/// Starts with another free port before giving up.
const ATTEMPTS_WITH_FREE_PORT: u32 = 5;

/// The port on 127.0.0.1 on which the server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpPort {
    /// It listens on its socket only.
    None,
    /// A free port.
    Free,
    /// This port.
    Fixed(u16),
    /// For development: this port, or a free one for 0, with the published password of the superuser.
    ///
    /// If it is taken, the server listens on its socket only.
    Development(u16),
}

impl TcpPort {
    /// Returns the port to start with.
    ///
    /// Another process may take a free one before the server binds it.
    pub fn choose(self) -> Result<Option<u16>, StartError> {
        let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| listener.local_addr());
        match self {
            Self::None => Ok(None),
            Self::Fixed(port) => Ok(Some(port)),
            Self::Free | Self::Development(0) => {
                Ok(Some(bind(0).map_err(StartError::io("finding a free port"))?.port()))
            }
            Self::Development(port) => Ok(match bind(port) {
                Ok(_) => Some(port),
                Err(error) => {
                    tracing::warn!(
                        port,
                        %error,
                        "the database has no port: [db] port cannot be opened on 127.0.0.1, is another server there?"
                    );
                    None
                }
            }),
        }
    }

    /// Returns how often to try to start.
    pub fn attempts(self) -> u32 {
        match self {
            Self::None | Self::Fixed(_) => 1,
            Self::Free | Self::Development(_) => ATTEMPTS_WITH_FREE_PORT,
        }
    }

    /// Returns whether the superuser has the published password.
    pub fn has_published_password(self) -> bool {
        matches!(self, Self::Development(_))
    }
}
