//! Request targets with `<` and `>` as they are.
//!
//! RFC 3986 has them percent-encoded, and hyper answers 400. Command-line clients send them nevertheless, as in
//! `select=data->>name` of the data API; other servers take them.

/// Encodes `<` and `>` in the request line of each request of a connection.
#[derive(Debug, Default)]
pub(crate) struct TargetEncoder {
    /// A request line has begun and not ended.
    is_in_line: bool,
    /// Bytes that did not fit into the reader's buffer, in reverse order.
    pending: Vec<u8>,
}

impl TargetEncoder {
    /// A request begins with the next bytes.
    pub(crate) fn begin(&mut self) {
        self.is_in_line = true;
    }

    /// Takes up to `count` bytes that did not fit before.
    pub(crate) fn take_pending(&mut self, count: usize) -> Vec<u8> {
        let kept = self.pending.len().saturating_sub(count);
        let mut taken = self.pending.split_off(kept);
        taken.reverse();
        taken
    }

    /// Returns the bytes with the rest of the request line encoded, cut to `capacity`; `None` if they stay as they are.
    pub(crate) fn encode(&mut self, bytes: &[u8], capacity: usize) -> Option<Vec<u8>> {
        if !self.is_in_line {
            return None;
        }
        // Empty lines before a request line are skipped (RFC 9112 §2.2).
        let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(bytes.len());
        let end = bytes[start..].iter().position(|byte| *byte == b'\n').map(|length| start + length);
        self.is_in_line = end.is_none();
        let end = end.unwrap_or(bytes.len());
        if !bytes[..end].iter().any(|byte| matches!(byte, b'<' | b'>')) {
            return None;
        }
        let mut encoded = Vec::with_capacity(bytes.len() + 32);
        for byte in &bytes[..end] {
            match byte {
                b'<' => encoded.extend_from_slice(b"%3C"),
                b'>' => encoded.extend_from_slice(b"%3E"),
                other => encoded.push(*other),
            }
        }
        encoded.extend_from_slice(&bytes[end..]);
        if encoded.len() > capacity {
            self.pending = encoded.split_off(capacity);
            self.pending.reverse();
        }
        Some(encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_request_line_is_encoded() {
        let mut encoder = TargetEncoder::default();
        assert_eq!(encoder.encode(b"<body>", 100), None);
        encoder.begin();
        let line = encoder.encode(b"\r\nGET /a?b->>c HTTP/1.1\r\nX: <y>\r\n", 100).unwrap();
        assert_eq!(line, b"\r\nGET /a?b-%3E%3Ec HTTP/1.1\r\nX: <y>\r\n");
        assert_eq!(encoder.encode(b"X: <z>\r\n", 100), None);
    }

    #[test]
    fn request_line_may_arrive_in_parts_and_exceed_the_buffer() {
        let mut encoder = TargetEncoder::default();
        encoder.begin();
        let mut read = Vec::new();
        for part in [&b"GET /a>"[..], b">b<c", b" HTTP/1.1\r\nX: >"] {
            match encoder.encode(part, 5) {
                Some(bytes) => read.extend(bytes),
                None => read.extend_from_slice(part),
            }
            loop {
                let pending = encoder.take_pending(2);
                if pending.is_empty() {
                    break;
                }
                read.extend(pending);
            }
        }
        assert_eq!(read, b"GET /a%3E%3Eb%3Cc HTTP/1.1\r\nX: >");
    }
}
