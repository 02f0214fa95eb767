//! Writing and copying files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use md5::{Digest, Md5};
use tokio::task::JoinHandle;

use super::file_system::{BLOCK, block, facts, failed, remove, synchronise};
use super::folders::Folders;
use super::room::Room;
use crate::backend::{BackendError, Content, FileFacts};

/// The folders of a store and the room in them.
#[derive(Debug, Clone)]
pub(super) struct Store {
    pub(super) folders: Arc<Folders>,
    pub(super) room: Arc<Room>,
}

/// A file that is being written. It is deleted unless it is kept.
#[derive(Debug)]
pub(super) struct IncomingFile {
    path: PathBuf,
    file: File,
    digest: Md5,
    room: Arc<Room>,
    /// The bytes that it has room for.
    size: u64,
    is_kept: bool,
}

impl Drop for IncomingFile {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        match remove(&self.path) {
            Ok(_) => self.room.give_back(self.size),
            Err(error) => tracing::warn!(%error, "an interrupted write leaves a file behind"),
        }
    }
}

impl IncomingFile {
    fn create(store: &Store) -> io::Result<Self> {
        loop {
            let path = store.folders.temporary_path();
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                // A process with the same number left it behind, perhaps on another machine.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    let (file, room) = (opened?, Arc::clone(&store.room));
                    return Ok(Self { path, file, digest: Md5::new(), room, size: 0, is_kept: false });
                }
            }
        }
    }

    /// Takes the room of bytes that are about to be written.
    fn take_room(&mut self, bytes: u64) -> io::Result<()> {
        self.room.take(bytes)?;
        self.size += bytes;
        Ok(())
    }

    fn write(mut self, blocks: &[Bytes]) -> io::Result<Self> {
        self.take_room(blocks.iter().map(|block| block.len() as u64).sum())?;
        for block in blocks {
            self.digest.update(block);
            self.file.write_all(block)?;
        }
        Ok(self)
    }

    /// Gives the file its name. It is on the disk before.
    fn name(mut self, target: &Path) -> io::Result<(Self, FileFacts)> {
        self.file.sync_data()?;
        let mut found = facts(&self.file.metadata()?)?;
        found.etag = format!("\"{}\"", hex::encode(std::mem::take(&mut self.digest).finalize()));
        fs::rename(&self.path, target)?;
        target.clone_into(&mut self.path);
        target.parent().map_or(Ok(()), synchronise)?;
        Ok((self, found))
    }

    /// Keeps the file: who writes it has got to know that it is there.
    fn keep(mut self) {
        self.is_kept = true;
    }
}

/// Renames a file, so that it has the new name after a crash.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    to.parent().map_or(Ok(()), synchronise)
}

/// Blocks that are written while the next ones arrive.
#[derive(Debug, Default)]
struct Blocks {
    waiting: Vec<Bytes>,
    size: usize,
}

impl Blocks {
    fn push(&mut self, block: Bytes) {
        self.size += block.len();
        self.waiting.push(block);
    }

    fn take(&mut self) -> Vec<Bytes> {
        self.size = 0;
        std::mem::take(&mut self.waiting)
    }
}

/// Where the writer is: nowhere before the first write, at work, or between two writes.
#[derive(Debug)]
enum Writer {
    Unopened,
    Busy(JoinHandle<io::Result<IncomingFile>>),
}

impl Writer {
    /// Waits for the last write.
    async fn finish_write(self) -> Result<Option<IncomingFile>, BackendError> {
        let Self::Busy(task) = self else { return Ok(None) };
        match task.await {
            Ok(file) => Ok(Some(file.map_err(|error| failed("writing a file", error))?)),
            Err(error) => Err(BackendError::Failed { attempt: "writing a file", source: Box::new(error) }),
        }
    }
}

/// Writes content to a file. It is complete and on the disk when it gets its name.
pub(super) async fn put(store: Store, target: PathBuf, mut content: Content) -> Result<FileFacts, BackendError> {
    let mut writer = Writer::Unopened;
    let mut blocks = Blocks::default();
    while let Some(block) = content.next().await {
        blocks.push(block?);
        if blocks.size >= BLOCK {
            let file = writer.finish_write().await?;
            let (store, blocks) = (store.clone(), blocks.take());
            writer = Writer::Busy(tokio::task::spawn_blocking(move || {
                let file = file.map_or_else(|| IncomingFile::create(&store), Ok)?;
                file.write(&blocks)
            }));
        }
    }
    drop(content);
    let file = writer.finish_write().await?;
    let blocks = blocks.take();
    let (file, found) = block("writing a file", move || {
        let file = file.map_or_else(|| IncomingFile::create(&store), Ok)?;
        file.write(&blocks)?.name(&target)
    })
    .await?;
    file.keep();
    Ok(found)
}

/// Copies a file. Files never change, so that the copy is a second name of the same content where that is possible.
pub(super) fn copy(store: &Store, source: &Path, target: &Path) -> io::Result<FileFacts> {
    let size = fs::metadata(source)?.len();
    store.room.take(size)?;
    let linked = fs::hard_link(source, target);
    if linked.is_err() {
        store.room.give_back(size);
    }
    match linked {
        Ok(()) => {
            target.parent().map_or(Ok(()), synchronise)?;
            facts(&fs::metadata(target)?)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => facts(&fs::metadata(target)?),
        // The file system has no links, or too many of this file.
        Err(_) => {
            let mut incoming = IncomingFile::create(store)?;
            incoming.take_room(size)?;
            io::copy(&mut File::open(source)?, &mut incoming.file)?;
            let (incoming, found) = incoming.name(target)?;
            incoming.keep();
            // The digest is that of no content: only copied bytes went through it.
            Ok(FileFacts { etag: facts(&fs::metadata(target)?)?.etag, ..found })
        }
    }
}
