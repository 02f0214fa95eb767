//! Reads the content of a mail (RFC 5321 §4.5.2).
//!
//! It ends with a dot between two CRLF and with nothing else.

/// The content of a mail while it arrives.
#[derive(Debug)]
pub struct MailData {
    content: Vec<u8>,
    position: Position,
    limit: usize,
    is_too_large: bool,
}

/// Where in a line the content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    LineStart,
    Inside,
    /// After a CR.
    CarriageReturn,
    /// After a dot at the start of a line.
    Dot,
    /// After such a dot and a CR.
    DotCarriageReturn,
}

impl MailData {
    /// Creates an empty content of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { content: Vec::new(), position: Position::LineStart, limit, is_too_large: false }
    }

    /// Adds received bytes; returns how many belong to the content, with the end, once it has ended.
    pub fn receive(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.receive_byte(*byte) {
                return Some(at + 1);
            }
        }
        None
    }

    /// Returns the content without the dots that the client added; `None` if it is too large.
    pub fn into_content(self) -> Option<Vec<u8>> {
        (!self.is_too_large).then_some(self.content)
    }

    /// Adds a byte; returns whether the content has ended.
    fn receive_byte(&mut self, byte: u8) -> bool {
        use Position::{CarriageReturn, Dot, DotCarriageReturn, Inside, LineStart};
        match (self.position, byte) {
            (LineStart, b'.') => {
                self.position = Dot;
                return false;
            }
            (Dot, b'\r') => {
                self.position = DotCarriageReturn;
                return false;
            }
            (DotCarriageReturn, b'\n') => return true,
            // The dot was added by the client, and the CR ends no line.
            (DotCarriageReturn, _) => self.push(b'\r'),
            _ => {}
        }
        self.push(byte);
        self.position = match (self.position, byte) {
            (CarriageReturn, b'\n') => LineStart,
            (_, b'\r') => CarriageReturn,
            _ => Inside,
        };
        false
    }

    fn push(&mut self, byte: u8) {
        if self.content.len() < self.limit {
            self.content.push(byte);
        } else {
            self.is_too_large = true;
            self.content = Vec::new();
            self.limit = 0;
        }
    }
}
