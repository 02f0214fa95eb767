//! WebSockets (RFC 6455) on which a server sends texts: opening handshake, limits.
//!
//! What a client sends has no effect, except that it answers pings and ends the connection.

mod connection;
mod handshake;

pub use self::connection::MAX_MESSAGE_BYTES;
pub(crate) use self::connection::{Connection, TextSender};
pub(crate) use self::handshake::{Handshake, accept};
pub(crate) use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
