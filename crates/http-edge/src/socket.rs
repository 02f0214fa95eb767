//! Listening sockets and the connections that they accept: TCP, or a Unix domain socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// The peer of a connection over a Unix domain socket: a process of this machine.
const LOCAL_PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A listening socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection that a socket accepted.
#[derive(Debug)]
pub(crate) enum SocketStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Accepts a connection; returns it with the address of its peer.
    pub(crate) async fn accept(&self) -> io::Result<(SocketStream, SocketAddr)> {
        match self {
            Self::Tcp(listener) => listener.accept().await.map(|(stream, peer)| (SocketStream::Tcp(stream), peer)),
            Self::Unix(listener) => listener.accept().await.map(|(stream, _)| (SocketStream::Unix(stream), LOCAL_PEER)),
        }
    }

    /// Closes the listener after taking the connections that the system has already established for it.
    /// The system would reset them.
    pub(crate) fn close(self, take: impl Fn(SocketStream, SocketAddr)) {
        // The listeners do not block: this ends when no connection waits.
        match self {
            Self::Tcp(listener) => {
                let Ok(listener) = listener.into_std() else { return };
                while let Ok((stream, peer)) = listener.accept() {
                    if stream.set_nonblocking(true).is_ok()
                        && let Ok(stream) = TcpStream::from_std(stream)
                    {
                        take(SocketStream::Tcp(stream), peer);
                    }
                }
            }
            Self::Unix(listener) => {
                let Ok(listener) = listener.into_std() else { return };
                while let Ok((stream, _)) = listener.accept() {
                    if stream.set_nonblocking(true).is_ok()
                        && let Ok(stream) = UnixStream::from_std(stream)
                    {
                        take(SocketStream::Unix(stream), LOCAL_PEER);
                    }
                }
            }
        }
    }
}

impl SocketStream {
    /// Sends small writes at once: responses are written whole, and waiting to fill a packet would only delay them.
    pub(crate) fn send_at_once(&self) {
        if let Self::Tcp(stream) = self {
            let _ = stream.set_nodelay(true);
        }
    }

    /// The server's address of the connection.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }
}
