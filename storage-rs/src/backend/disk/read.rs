//! Reading files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use tokio::task::JoinHandle;

use super::file_system::{BLOCK, block, facts};
use crate::backend::{BackendError, Content, ContentError, FileFacts};

/// A file that is read in blocks.
#[derive(Debug)]
struct Reader {
    file: File,
    /// The bytes that are still to be read.
    left: u64,
}

impl Reader {
    fn read(mut self) -> io::Result<(Self, Bytes)> {
        let wanted = usize::try_from(self.left).map_or(BLOCK, |left| left.min(BLOCK));
        let mut block = Vec::with_capacity(wanted);
        (&mut self.file).take(wanted as u64).read_to_end(&mut block)?;
        if block.len() < wanted {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        self.left -= wanted as u64;
        Ok((self, Bytes::from(block)))
    }
}

/// A block that is read while the one before is sent.
type Pending = JoinHandle<io::Result<(Reader, Bytes)>>;

/// Reads a file. Its first block is read at once, the next one while a block is sent.
pub(super) async fn get(path: PathBuf, range: Option<Range<u64>>) -> Result<(FileFacts, Content), BackendError> {
    let (found, reader, first) = block("opening a file", move || {
        let mut file = File::open(path)?;
        let found = facts(&file.metadata()?)?;
        let range = range.unwrap_or(0..found.size);
        let end = range.end.min(found.size);
        if range.start > 0 {
            file.seek(SeekFrom::Start(range.start))?;
        }
        let (reader, first) = Reader { file, left: end.saturating_sub(range.start) }.read()?;
        Ok((found, reader, first))
    })
    .await?;
    let content = stream::unfold(State::Read(reader, first), next);
    Ok((found, content.boxed()))
}

/// What a stream of blocks does next.
enum State {
    /// A block is there.
    Read(Reader, Bytes),
    /// A block is being read.
    Reading(Pending),
    /// Everything was read, or reading failed.
    Ended,
}

async fn next(state: State) -> Option<(Result<Bytes, ContentError>, State)> {
    let (reader, block) = match state {
        State::Ended => return None,
        State::Read(reader, block) => (reader, block),
        State::Reading(pending) => match pending.await.map_err(io::Error::other).flatten() {
            Ok(read) => read,
            Err(error) => return Some((Err(ContentError::Read(error)), State::Ended)),
        },
    };
    if block.is_empty() {
        return None;
    }
    let state = if reader.left == 0 {
        State::Ended
    } else {
        State::Reading(tokio::task::spawn_blocking(move || reader.read()))
    };
    Some((Ok(block), state))
}
