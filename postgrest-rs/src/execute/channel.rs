//! The stream of a connection to the database, from which the body of a large result is taken out.
//!
//! The driver holds each message in memory as a whole. A row of seven columns is that of a statement of
//! [`crate::sql::statement`]; its fourth column is the body, and goes into a [`Diversion`] when it is large. The driver reads an empty
//! value in its place.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::channel::mpsc::Sender;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use super::spool::{Diversion, SPOOLED_VALUE};

/// The type of a message with a row (PostgreSQL, "Message Formats", `DataRow`).
const DATA_ROW: u8 = b'D';
/// The type of a message with the process of the session (PostgreSQL, "Message Formats", `BackendKeyData`).
const KEY_DATA: u8 = b'K';
/// The bytes before the content of a message: its type and its length, which counts itself.
const HEADER: usize = 5;
/// The columns of a row whose body may be diverted, and the place of the body.
const COLUMNS: u16 = 7;
const BODY_COLUMN: u16 = 3;
/// The bytes that are read at once while a body is diverted.
const READ_SIZE: usize = 64 * 1024;

/// A stream that diverts large bodies.
#[derive(Debug)]
pub(super) struct Channel<S> {
    inner: S,
    diversion: Arc<Diversion>,
    /// Bytes of the present message that are passed on unchanged.
    passing: usize,
    /// Bytes that were read and not yet examined.
    held: BytesMut,
    /// The row that is examined.
    row: Option<Row>,
    /// Bytes that the driver reads next.
    output: BytesMut,
}

/// A row whose values are examined one by one.
#[derive(Debug, Default)]
struct Row {
    /// What the driver reads of it, without header.
    kept: BytesMut,
    /// The number of columns, once it is known.
    columns: Option<u16>,
    /// The column that comes next.
    column: u16,
    /// The bytes of the present value that are left to be kept.
    keeping: usize,
    /// The value that is diverted: its bytes that are left, and where they go; `None` where they are not taken any more.
    diverting: Option<(usize, Option<Sender<Bytes>>)>,
}

impl<S> Channel<S> {
    /// A stream after the negotiation of TLS, whose next bytes are messages.
    pub(super) fn new(inner: S, diversion: Arc<Diversion>) -> Self {
        Self { inner, diversion, passing: 0, held: BytesMut::new(), row: None, output: BytesMut::new() }
    }

    /// Examines the bytes that were read: how many of them the driver may read as they are. The rest is a row whose values are
    /// examined, or the beginning of a header.
    fn examine(&mut self) -> usize {
        let mut at = 0;
        loop {
            let passed = self.passing.min(self.held.len() - at);
            self.passing -= passed;
            at += passed;
            let Some(header) = self.held.get(at..at + HEADER) else {
                return at;
            };
            let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
            if header[0] == DATA_ROW && length > SPOOLED_VALUE && self.diversion.is_ready() {
                self.row = Some(Row::default());
                return at;
            }
            if header[0] == KEY_DATA && !self.diversion.has_process() {
                let Some(process) = self.held.get(at + HEADER..at + HEADER + 4) else { return at };
                self.diversion.set_process(i32::from_be_bytes([process[0], process[1], process[2], process[3]]));
            }
            // The length counts itself, but not the type.
            self.passing = length.saturating_add(1).max(HEADER);
        }
    }
}

impl Row {
    /// Takes as much as possible of `input`; ready when the row is complete or more input is needed.
    fn poll_take(&mut self, diversion: &Diversion, input: &mut BytesMut, cx: &mut Context<'_>) -> Poll<Taken> {
        loop {
            if let Some((left, sink)) = &mut self.diverting {
                if *left == 0 {
                    self.diverting = None;
                    continue;
                }
                if input.is_empty() {
                    return Poll::Ready(Taken::All);
                }
                if let Some(sender) = sink
                    && ready!(sender.poll_ready(cx)).is_err()
                {
                    // The file cannot be written; the rest is read so that the connection stays usable.
                    *sink = None;
                }
                let part = input.split_to(input.len().min(*left));
                *left -= part.len();
                // A part that is copied does not keep the buffer that the next ones are read into.
                if let Some(sender) = sink
                    && sender.start_send(Bytes::copy_from_slice(&part)).is_err()
                {
                    *sink = None;
                }
                continue;
            }
            if self.keeping > 0 {
                if input.is_empty() {
                    return Poll::Ready(Taken::All);
                }
                self.keep(self.keeping.min(input.len()), input);
                continue;
            }
            let Some(columns) = self.columns else {
                let Some(count) = input.get(..2) else { return Poll::Ready(Taken::All) };
                self.columns = Some(u16::from_be_bytes([count[0], count[1]]));
                self.keeping = 2;
                continue;
            };
            if self.column == columns {
                return Poll::Ready(Taken::Row);
            }
            let Some(size) = input.get(..4) else { return Poll::Ready(Taken::All) };
            let size = i32::from_be_bytes([size[0], size[1], size[2], size[3]]);
            // -1 is null.
            let size = usize::try_from(size).unwrap_or(0);
            let is_body = columns == COLUMNS && self.column == BODY_COLUMN;
            self.column += 1;
            let sender = if is_body { diversion.take(size) } else { None };
            match sender {
                Some(sender) => {
                    input.advance(4);
                    self.kept.put_i32(0);
                    self.diverting = Some((size, Some(sender)));
                }
                None => self.keeping = 4 + size,
            }
        }
    }

    fn keep(&mut self, count: usize, input: &mut BytesMut) {
        self.kept.extend_from_slice(&input.split_to(count));
        self.keeping -= count;
    }
}

/// How far a row was taken.
enum Taken {
    /// All input was taken; more is needed.
    All,
    /// The row is complete.
    Row,
}

impl<S: AsyncRead + Unpin> Channel<S> {
    /// Reads more bytes; answers how many there are, 0 at the end.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.held.reserve(READ_SIZE);
        // The future holds nothing between two polls.
        pin!(self.inner.read_buf(&mut self.held)).poll(cx)
    }

    /// Reads until the row is complete, then puts what is kept of it into the output.
    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let Some(row) = &mut self.row else { return Poll::Ready(Ok(())) };
            match ready!(row.poll_take(&self.diversion, &mut self.held, cx)) {
                Taken::Row => {
                    let length = u32::try_from(row.kept.len() + 4).map_err(io::Error::other)?;
                    self.output.put_u8(DATA_ROW);
                    self.output.put_u32(length);
                    self.output.extend_from_slice(&row.kept);
                    self.row = None;
                }
                Taken::All => {
                    if ready!(self.poll_more(cx))? == 0 {
                        return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                    }
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Channel<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.output.is_empty() {
            ready!(this.poll_row(cx))?;
            if !this.output.is_empty() {
                break;
            }
            let passed = this.examine();
            this.output = this.held.split_to(passed);
            if this.row.is_some() {
                this.held.advance(HEADER);
            } else if passed == 0 && ready!(this.poll_more(cx))? == 0 {
                // The connection ended, perhaps within a header.
                this.output = this.held.split();
                break;
            }
        }
        let part = this.output.split_to(this.output.len().min(buffer.remaining()));
        buffer.put_slice(&part);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Channel<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// A message of a type.
    fn message(kind: u8, content: &[u8]) -> Vec<u8> {
        let mut message = vec![kind];
        message.extend(u32::try_from(content.len() + 4).unwrap().to_be_bytes());
        message.extend(content);
        message
    }

    /// A row of these values; `None` is null.
    fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut content = u16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
        for value in values {
            content.extend(value.map_or(-1, |value| i32::try_from(value.len()).unwrap()).to_be_bytes());
            content.extend(value.unwrap_or_default());
        }
        message(DATA_ROW, &content)
    }

    /// What a reader with small buffers reads of bytes that arrive in parts, and the diverted value.
    async fn read(bytes: Vec<u8>, part: usize, buffer: usize) -> (Vec<u8>, Option<Vec<u8>>) {
        let diversion = Arc::new(Diversion::default());
        diversion.begin();
        let (mut sender, receiver) = tokio::io::duplex(part);
        let sending = tokio::spawn(async move { sender.write_all(&bytes).await });
        let mut channel = Channel::new(receiver, Arc::clone(&diversion));
        let (mut read, mut space) = (Vec::new(), vec![0; buffer]);
        loop {
            let count = channel.read(&mut space).await.unwrap();
            if count == 0 {
                break;
            }
            read.extend(&space[..count]);
        }
        sending.await.unwrap().unwrap();
        let diverted = match diversion.finish().await.unwrap() {
            Some(spool) => Some(spool.into_stream().try_collect::<Vec<_>>().await.unwrap().concat()),
            None => None,
        };
        (read, diverted)
    }

    #[tokio::test]
    async fn large_body_is_taken_out_of_its_row_alone() {
        let body: Vec<u8> = (0..249).cycle().take(SPOOLED_VALUE * 2).collect();
        let values = |body| [Some(&b"1"[..]), None, Some(&b"x"[..]), Some(body), None, None, Some(&b"z"[..])];
        let (before, after) = (message(b'T', &[7; 40]), message(b'C', b"SELECT 1"));
        for (part, buffer) in [(1 << 20, 8192), (4099, 1), (70_000, 3)] {
            let sent = [before.clone(), row(&values(&body)), after.clone(), row(&values(b"small"))].concat();
            let expected = [before.clone(), row(&values(b"")), after.clone(), row(&values(b"small"))].concat();
            let (read, diverted) = read(sent, part, buffer).await;
            assert!(read == expected, "{part} {buffer}");
            assert!(diverted.as_ref() == Some(&body), "{part} {buffer}");
        }
    }

    #[tokio::test]
    async fn other_large_rows_are_read_as_they_are() {
        let value = vec![b'x'; SPOOLED_VALUE + 1];
        let sent = [row(&[Some(&value)]), row(&[None, Some(&value), None, Some(b"b"), None, None, None])].concat();
        let (read, diverted) = read(sent.clone(), 1 << 16, 8192).await;
        assert!(read == sent && diverted.is_none());
    }

    #[tokio::test]
    async fn process_of_the_session_is_read_from_its_message() {
        let sent =
            [message(b'S', b"a\0b\0"), message(KEY_DATA, &[0, 0, 2, 1, 9, 9, 9, 9]), message(b'Z', b"I")].concat();
        for part in [1, 7, 64] {
            let diversion = Arc::new(Diversion::default());
            let (mut sender, receiver) = tokio::io::duplex(part);
            let bytes = sent.clone();
            let sending = tokio::spawn(async move { sender.write_all(&bytes).await });
            let mut read = Vec::new();
            Channel::new(receiver, Arc::clone(&diversion)).read_to_end(&mut read).await.unwrap();
            sending.await.unwrap().unwrap();
            assert_eq!((read, diversion.process()), (sent.clone(), 513));
        }
    }

    proptest! {
        #[test]
        fn messages_pass_unchanged(
            messages in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..20),
            part in 1_usize..60,
            buffer in 1_usize..60,
        ) {
            let sent: Vec<u8> = messages.iter().flat_map(|(kind, content)| message(*kind, content)).collect();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let (read, diverted) = runtime.block_on(read(sent.clone(), part, buffer));
            prop_assert_eq!(read, sent);
            prop_assert!(diverted.is_none());
        }
    }
}
