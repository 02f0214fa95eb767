//! WebSockets (RFC 6455) on which a server sends texts: opening handshake, frames, limits.
//!
//! What a client sends has no effect, except that it answers pings and ends the connection.

mod connection;
mod frame;
mod handshake;

pub use self::frame::{
    ClientFrame, CloseCode, FrameError, FrameReader, MAX_PAYLOAD_BYTES, format_close, format_ping, format_pong,
    format_text,
};

pub(crate) use self::connection::{Connection, TextSender};
pub(crate) use self::handshake::{Handshake, accept};
