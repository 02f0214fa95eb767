//! Large values of results, kept in files until they are sent.
//!
//! A value that is larger than [`SPOOLED_VALUE`] never is in memory as a whole: it is written into a file without a name as fast as the
//! database sends it, so that a client that reads slowly holds no connection. The files of a process have a common limit; a value
//! that does not fit waits, and with it its connection, for at most [`SPACE_WAIT`].

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::channel::mpsc::{self, Receiver, Sender};
use futures::stream::{self, Stream, StreamExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};

/// The smallest value that is kept in a file, in bytes.
pub const SPOOLED_VALUE: usize = 1024 * 1024;

/// The most that all files hold at a time, in bytes: four values of the largest size that PostgreSQL has.
pub const SPOOL_SPACE: usize = 4 * 1024 * 1024 * 1024;

/// How long a value waits for space.
pub const SPACE_WAIT: Duration = Duration::from_secs(10);

/// The unit in which space is counted, in bytes.
const UNIT: usize = 64 * 1024;

/// The number of parts that wait to be written.
const PENDING_PARTS: usize = 8;

/// The bytes that are read at once for a client.
const READ_SIZE: usize = 128 * 1024;

/// The free space, in units.
static SPACE: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(SPOOL_SPACE / UNIT)));

/// A value in a file, which is gone with the last clone.
#[derive(Debug, Clone)]
pub struct Spool(Arc<Spooled>);

#[derive(Debug)]
struct Spooled {
    file: File,
    length: usize,
    _space: OwnedSemaphorePermit,
}

impl Spool {
    /// The number of bytes.
    pub fn length(&self) -> usize {
        self.0.length
    }

    /// The bytes in parts.
    pub fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        stream::try_unfold((self, 0), |(spool, offset)| async move {
            let left = spool.0.length - offset;
            if left == 0 {
                return Ok(None);
            }
            let reader = spool.clone();
            let part = spawn_blocking(move || {
                let mut part = vec![0; left.min(READ_SIZE)];
                reader.0.file.read_exact_at(&mut part, offset as u64).map(|()| part)
            });
            let part = part.await.map_err(io::Error::other)??;
            let end = offset + part.len();
            Ok(Some((Bytes::from(part), (spool, end))))
        })
    }
}

/// Where the large value of a result goes, and the process that the database announced: shared by a connection and its reader.
#[derive(Debug, Default)]
pub struct Diversion {
    slot: Mutex<Slot>,
    /// 0 until it is announced.
    process: AtomicI32,
}

#[derive(Debug, Default)]
enum Slot {
    /// Results are read as they are.
    #[default]
    Idle,
    /// A large value is diverted.
    Ready,
    /// One is, or was.
    Taken(JoinHandle<io::Result<Spool>>),
}

impl Diversion {
    /// Diverts the large value of the next results.
    pub fn begin(&self) {
        *self.lock() = Slot::Ready;
    }

    /// Reads results as they are again; returns the value that was diverted, if there was one.
    ///
    /// # Errors
    /// The file could not be written, or there was no space in time.
    pub async fn finish(&self) -> io::Result<Option<Spool>> {
        let slot = std::mem::take(&mut *self.lock());
        match slot {
            Slot::Taken(writing) => writing.await.map_err(io::Error::other)?.map(Some),
            Slot::Idle | Slot::Ready => Ok(None),
        }
    }

    /// The process of the session as its start announced it; a pooler announces a number of its own.
    pub(super) fn process(&self) -> i32 {
        self.process.load(Ordering::Relaxed)
    }

    /// Whether the process was announced.
    pub(super) fn has_process(&self) -> bool {
        self.process() != 0
    }

    /// Keeps the announced process.
    pub(super) fn set_process(&self, process: i32) {
        self.process.store(process, Ordering::Relaxed);
    }

    /// Begins to take a value of so many bytes; `None` if it is to be read as it is.
    pub(super) fn take(&self, length: usize) -> Option<Sender<Bytes>> {
        let mut slot = self.lock();
        if length < SPOOLED_VALUE || !matches!(*slot, Slot::Ready) {
            return None;
        }
        let (sender, receiver) = mpsc::channel(PENDING_PARTS);
        *slot = Slot::Taken(tokio::spawn(write(receiver, length)));
        Some(sender)
    }

    /// Whether a value would be taken.
    pub(super) fn is_ready(&self) -> bool {
        matches!(*self.lock(), Slot::Ready)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the parts of a value of so many bytes.
async fn write(mut parts: Receiver<Bytes>, length: usize) -> io::Result<Spool> {
    let units = u32::try_from(length.div_ceil(UNIT)).map_err(io::Error::other)?;
    // The space of the whole value is reserved at once: values that wait for each other would wait forever.
    let space = tokio::time::timeout(SPACE_WAIT, Arc::clone(&SPACE).acquire_many_owned(units)).await;
    let space = space.map_err(|_| io::Error::other("no space for large results"))?.map_err(io::Error::other)?;
    let mut file = spawn_blocking(tempfile::tempfile).await.map_err(io::Error::other)??;
    let mut written = 0;
    while let Some(part) = parts.next().await {
        let end = written + part.len();
        file = spawn_blocking(move || file.write_all_at(&part, written as u64).map(|()| file))
            .await
            .map_err(io::Error::other)??;
        written = end;
    }
    if written != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Spool(Arc::new(Spooled { file, length, _space: space })))
}

#[cfg(test)]
mod tests {
    use futures::{SinkExt, TryStreamExt};

    use super::*;

    #[tokio::test]
    async fn value_is_read_as_it_was_written() {
        let diversion = Diversion::default();
        assert!(diversion.take(SPOOLED_VALUE).is_none(), "it was not asked for");
        diversion.begin();
        assert!(diversion.take(SPOOLED_VALUE - 1).is_none(), "it is small");
        let value: Vec<u8> = (0..251).cycle().take(SPOOLED_VALUE + 77).collect();
        let mut sender = diversion.take(value.len()).unwrap();
        assert!(diversion.take(value.len()).is_none(), "there is one already");
        for part in value.chunks(10_000) {
            sender.send(Bytes::copy_from_slice(part)).await.unwrap();
        }
        drop(sender);
        let spool = diversion.finish().await.unwrap().unwrap();
        assert_eq!(spool.length(), value.len());
        let read: Vec<Bytes> = spool.clone().into_stream().try_collect().await.unwrap();
        assert!(read.concat() == value);
        assert!(diversion.finish().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn value_that_ends_early_is_an_error() {
        let diversion = Diversion::default();
        diversion.begin();
        drop(diversion.take(SPOOLED_VALUE));
        assert_eq!(diversion.finish().await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
