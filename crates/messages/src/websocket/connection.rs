//! An open WebSocket.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use http_edge::{PendingUpgrade, ShutdownSignal, UpgradedStream};
use platform::clock::{Clock, SystemClock};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

/// The maximum number of bytes of a client's message.
pub const MAX_MESSAGE_BYTES: usize = 4096;
/// The number of texts that wait for a slow client.
const QUEUED_TEXTS: usize = 256;
/// Time that a connection has to switch protocols after the response.
const SWITCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that a client may take to accept a text.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The size of the buffer of a connection for what its client sends.
const READ_BUFFER_BYTES: usize = 1024;

/// Sends texts to the client of a connection.
pub(crate) type TextSender = mpsc::Sender<Result<String, CloseCode>>;

type Socket = WebSocketStream<UpgradedStream>;

/// A WebSocket whose client gets texts.
pub(crate) struct Connection {
    upgrade: PendingUpgrade,
    texts: mpsc::Receiver<Result<String, CloseCode>>,
    closing: ShutdownSignal,
    ping_interval: Duration,
}

impl Connection {
    /// Creates a connection and the sender of its texts; an error instead of a text ends it.
    ///
    /// The client is pinged every `ping_interval`; one that does not answer until the next time is
    /// disconnected. The connection also ends once `closing` is true.
    pub(crate) fn new(upgrade: PendingUpgrade, closing: ShutdownSignal, ping_interval: Duration) -> (Self, TextSender) {
        let (sender, texts) = mpsc::channel(QUEUED_TEXTS);
        (Self { upgrade, texts, closing, ping_interval }, sender)
    }

    /// Serves the connection until one side ends it.
    pub(crate) async fn run(mut self) {
        let stream = tokio::select! {
            stream = self.upgrade.wait() => stream,
            () = SystemClock.timeout(SWITCH_TIMEOUT) => None,
        };
        let Some(stream) = stream else { return };
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let code = tokio::select! {
            code = exchange(&mut socket, &mut self.texts, self.ping_interval) => code,
            _ = self.closing.wait_for(|is_closing| *is_closing) => Some(CloseCode::Away),
        };
        if let Some(code) = code {
            send(&mut socket, Message::Close(Some(CloseFrame { code, reason: String::new().into() }))).await;
        }
        drop(socket.get_mut().shutdown().await);
    }
}

/// Sends texts and pings; the library answers pings and the end of the connection.
///
/// Returns why the server ends the connection; `None` if the client ended it or it is lost.
async fn exchange(
    socket: &mut Socket,
    texts: &mut mpsc::Receiver<Result<String, CloseCode>>,
    ping_interval: Duration,
) -> Option<CloseCode> {
    let mut closing = Box::pin(socket.get_ref().closing());
    let mut next_ping = SystemClock.timeout(ping_interval);
    let mut is_silent = false;
    loop {
        tokio::select! {
            message = socket.next() => match message? {
                Ok(_) => is_silent = false,
                Err(error) => return find_close_code(&error),
            },
            text = texts.recv() => match text {
                Some(Ok(text)) => send(socket, Message::Text(text.into())).await?,
                Some(Err(code)) => return Some(code),
                None => return Some(CloseCode::Error),
            },
            () = &mut next_ping => {
                if is_silent {
                    return Some(CloseCode::Away);
                }
                is_silent = true;
                send(socket, Message::Ping(Bytes::new())).await?;
                next_ping = SystemClock.timeout(ping_interval);
            }
            () = &mut closing => return Some(CloseCode::Away),
        }
    }
}

/// Returns what a client is told that sent what is no message; `None` if the connection is lost.
fn find_close_code(error: &Error) -> Option<CloseCode> {
    match error {
        Error::Capacity(_) => Some(CloseCode::Size),
        Error::Utf8(_) => Some(CloseCode::Invalid),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => None,
        Error::Protocol(_) => Some(CloseCode::Protocol),
        _ => None,
    }
}

/// Sends a message; `None` if the connection is lost or the client too slow.
async fn send(socket: &mut Socket, message: Message) -> Option<()> {
    tokio::select! {
        sent = socket.send(message) => sent.ok(),
        () = SystemClock.timeout(WRITE_TIMEOUT) => None,
    }
}
