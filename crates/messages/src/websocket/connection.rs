//! An open WebSocket.

use std::time::Duration;

use gotrue_rs::ports::clock::{Clock, SystemClock};
use http_edge::{PendingUpgrade, ShutdownSignal, UpgradedStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use super::frame::{ClientFrame, CloseCode, FrameReader, format_close, format_ping, format_pong, format_text};

/// The number of texts that wait for a slow client.
const QUEUED_TEXTS: usize = 256;
/// Time that a connection has to switch protocols after the response.
const SWITCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that a client may take to accept a text.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of bytes that are read at a time.
const READ_BYTES: usize = 1024;

/// Sends texts to the client of a connection.
pub(crate) type TextSender = mpsc::Sender<Result<String, CloseCode>>;

/// A WebSocket whose client gets texts.
pub(crate) struct Connection {
    upgrade: PendingUpgrade,
    texts: mpsc::Receiver<Result<String, CloseCode>>,
    closing: ShutdownSignal,
    ping_interval: Duration,
}

/// The connection is over.
struct Ended;

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
        let Some(mut stream) = stream else { return };
        let code = tokio::select! {
            code = exchange(&mut stream, &mut self.texts, self.ping_interval) => code,
            _ = self.closing.wait_for(|is_closing| *is_closing) => Some(CloseCode::GoingAway),
        };
        if let Some(code) = code {
            drop(write(&mut stream, &format_close(code)).await);
        }
        drop(stream.shutdown().await);
    }
}

/// Sends texts and answers control frames.
///
/// Returns why the server ends the connection; `None` if it is lost.
async fn exchange(
    stream: &mut UpgradedStream,
    texts: &mut mpsc::Receiver<Result<String, CloseCode>>,
    ping_interval: Duration,
) -> Option<CloseCode> {
    let mut closing = Box::pin(stream.closing());
    let mut frames = FrameReader::default();
    let mut buffer = [0; READ_BYTES];
    let mut next_ping = SystemClock.timeout(ping_interval);
    let mut is_silent = false;
    loop {
        tokio::select! {
            read = stream.read(&mut buffer) => {
                let length = read.ok().filter(|length| *length > 0)?;
                is_silent = false;
                frames.push(&buffer[..length]);
                match answer_frames(stream, &mut frames).await {
                    Ok(None) => {}
                    Ok(Some(code)) => return Some(code),
                    Err(Ended) => return None,
                }
            }
            text = texts.recv() => match text {
                Some(Ok(text)) => write(stream, &format_text(&text)).await.ok()?,
                Some(Err(code)) => return Some(code),
                None => return Some(CloseCode::InternalError),
            },
            () = &mut next_ping => {
                if is_silent {
                    return Some(CloseCode::GoingAway);
                }
                is_silent = true;
                write(stream, &format_ping()).await.ok()?;
                next_ping = SystemClock.timeout(ping_interval);
            }
            () = &mut closing => return Some(CloseCode::GoingAway),
        }
    }
}

/// Answers the complete frames; returns why the server ends the connection.
async fn answer_frames(stream: &mut UpgradedStream, frames: &mut FrameReader) -> Result<Option<CloseCode>, Ended> {
    loop {
        match frames.take_frame() {
            Ok(None) => return Ok(None),
            Ok(Some(ClientFrame::Data | ClientFrame::Pong)) => {}
            Ok(Some(ClientFrame::Ping(content))) => write(stream, &format_pong(&content)).await?,
            Ok(Some(ClientFrame::Close)) => return Ok(Some(CloseCode::Normal)),
            Err(error) => return Ok(Some(error.into())),
        }
    }
}

async fn write(stream: &mut UpgradedStream, bytes: &[u8]) -> Result<(), Ended> {
    let writing = async {
        stream.write_all(bytes).await?;
        stream.flush().await
    };
    tokio::select! {
        written = writing => written.map_err(|_| Ended),
        () = SystemClock.timeout(WRITE_TIMEOUT) => Err(Ended),
    }
}
