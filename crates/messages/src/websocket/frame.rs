//! Frames of WebSockets (RFC 6455 §5) at the side of the server, which only reads control frames.

/// The maximum number of bytes of a client's frame.
pub const MAX_PAYLOAD_BYTES: usize = 4096;

/// The maximum number of bytes of a control frame (RFC 6455 §5.5).
const MAX_CONTROL_BYTES: usize = 125;
/// The bit of the last frame of a message.
const FINAL: u8 = 0x80;
/// The bits that extensions use; the handshake agrees on none.
const RESERVED: u8 = 0x70;
/// The bit of a masked payload.
const MASKED: u8 = 0x80;
const TEXT: u8 = 0x1;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;

/// A frame of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientFrame {
    /// A part of a text or of binary data, which means nothing here.
    Data,
    /// A question whether this side is there, with what the answer repeats.
    Ping(Vec<u8>),
    /// The answer to a ping.
    Pong,
    /// The end of the connection.
    Close,
}

/// Why a connection ends because of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The bytes are no frame of a client.
    #[error("the bytes are no frame of a client")]
    Invalid,
    /// The frame is longer than [`MAX_PAYLOAD_BYTES`].
    #[error("the frame is too long")]
    TooLong,
}

/// Why the server ends a connection (RFC 6455 §7.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum CloseCode {
    /// The client asked for it.
    Normal = 1000,
    /// The server or the backend ends.
    GoingAway = 1001,
    /// The client sent what is no frame.
    ProtocolError = 1002,
    /// The client sent a frame that is too long.
    TooBig = 1009,
    /// The messages could not be read.
    InternalError = 1011,
}

impl From<FrameError> for CloseCode {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Invalid => Self::ProtocolError,
            FrameError::TooLong => Self::TooBig,
        }
    }
}

/// Splits the bytes of a client into frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
}

impl FrameReader {
    /// Adds bytes of the client.
    ///
    /// The caller takes all complete frames before it adds more, so that the buffer stays short.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next frame; `None` if it is not complete.
    ///
    /// # Errors
    /// The bytes are no frame of a client, or the frame is too long. The connection ends then.
    pub fn take_frame(&mut self) -> Result<Option<ClientFrame>, FrameError> {
        let [first, second, rest @ ..] = self.buffer.as_slice() else { return Ok(None) };
        let (is_final, opcode) = (first & FINAL != 0, first & 0x0F);
        if first & RESERVED != 0 || second & MASKED == 0 {
            return Err(FrameError::Invalid);
        }
        let (length, rest) = match second & !MASKED {
            127 => return Err(FrameError::TooLong),
            126 => {
                let Some((length, rest)) = rest.split_first_chunk::<2>() else { return Ok(None) };
                (usize::from(u16::from_be_bytes(*length)), rest)
            }
            length => (usize::from(length), rest),
        };
        if length > MAX_PAYLOAD_BYTES {
            return Err(FrameError::TooLong);
        }
        if opcode >= CLOSE && (!is_final || length > MAX_CONTROL_BYTES) {
            return Err(FrameError::Invalid);
        }
        let Some((mask, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let Some(masked) = rest.get(..length) else { return Ok(None) };
        let frame = match opcode {
            0..=2 => ClientFrame::Data,
            CLOSE => ClientFrame::Close,
            PING => ClientFrame::Ping(masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()),
            PONG => ClientFrame::Pong,
            _ => return Err(FrameError::Invalid),
        };
        let left = rest.len() - length;
        self.buffer.drain(..self.buffer.len() - left);
        Ok(Some(frame))
    }
}

/// Formats a text message.
pub fn format_text(text: &str) -> Vec<u8> {
    format_frame(TEXT, text.as_bytes())
}

/// Formats a ping without content.
pub fn format_ping() -> Vec<u8> {
    format_frame(PING, &[])
}

/// Formats the answer to a ping with this content.
pub fn format_pong(content: &[u8]) -> Vec<u8> {
    format_frame(PONG, content)
}

/// Formats the end of the connection.
pub fn format_close(code: CloseCode) -> Vec<u8> {
    format_frame(CLOSE, &(code as u16).to_be_bytes())
}

/// Formats a whole message, without a mask as the server sends it.
fn format_frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![FINAL | opcode];
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ ..126), _) => frame.push(length),
        (_, Ok(length)) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend((payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}
