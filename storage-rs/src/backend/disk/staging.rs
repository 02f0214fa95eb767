//! Uploads that arrive in several requests: a file that grows, its description, and the state of its MD5.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use md5::digest::common::hazmat::SerializableState;
use md5::{Digest, Md5};
use uuid::Uuid;

use super::DiskBackend;
use super::file_system::{BLOCK, block, facts, remove, synchronise};
use super::folders::Folders;
use super::room::{Room, remove_with_room};
use super::write::rename;
use crate::backend::{Appended, BackendError, Content, ContentHeaders, FileFacts, FileKey, Staging};

/// How long an append waits for another process that writes to the upload.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How often it looks.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
struct UploadFiles {
    folders: Arc<Folders>,
    room: Arc<Room>,
    id: Uuid,
}

impl UploadFiles {
    fn content(&self) -> PathBuf {
        self.folders.uploads.join(format!("{}.content", self.id))
    }

    fn description(&self) -> PathBuf {
        self.folders.uploads.join(format!("{}.json", self.id))
    }

    fn digest(&self) -> PathBuf {
        self.folders.uploads.join(format!("{}.md5", self.id))
    }

    /// Replaces a file at once.
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let temporary = self.folders.temporary_path();
        let mut file = File::create(&temporary)?;
        let written = file.write_all(content).and_then(|()| file.sync_data()).and_then(|()| rename(&temporary, path));
        if written.is_err() {
            // The error of the write is the one that counts.
            let _ = remove(&temporary);
        }
        written
    }

    fn remove(&self) -> io::Result<()> {
        remove_with_room(&self.room, &self.content())?;
        remove(&self.digest())?;
        remove(&self.description()).map(drop)
    }
}

/// The MD5 of the first bytes of an upload.
#[derive(Debug, Clone)]
struct PartialDigest {
    state: Md5,
    size: u64,
}

impl PartialDigest {
    /// Loads the state that the last append saved, and reads the bytes behind it.
    fn load(files: &UploadFiles, content: &mut File, size: u64) -> io::Result<Self> {
        let mut digest = Self::read(&files.digest()).filter(|digest| digest.size <= size);
        let mut digest = digest.take().unwrap_or_else(|| Self { state: Md5::new(), size: 0 });
        content.seek(SeekFrom::Start(digest.size))?;
        let mut buffer = vec![0; BLOCK];
        let mut rest = content.take(size - digest.size);
        loop {
            match rest.read(&mut buffer)? {
                0 => break,
                read => digest.update(&buffer[..read]),
            }
        }
        Ok(digest)
    }

    fn read(path: &Path) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let (size, state) = bytes.split_first_chunk::<8>()?;
        let state = Md5::deserialize(state.try_into().ok()?).ok()?;
        Some(Self { state, size: u64::from_be_bytes(*size) })
    }

    fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
        self.size += bytes.len() as u64;
    }

    /// Saves the state. It only saves reading: after a crash the bytes behind an older state are read again.
    fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = self.size.to_be_bytes().to_vec();
        bytes.extend_from_slice(&self.state.serialize());
        fs::write(path, bytes)
    }
}

/// A file that grows.
#[derive(Debug)]
struct Growing {
    files: UploadFiles,
    file: File,
    digest: PartialDigest,
}

impl Growing {
    /// Opens an upload for this process alone; `None` when it has another size than this.
    fn open(files: UploadFiles, offset: u64) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().read(true).write(true).open(files.content())?;
        lock(&file)?;
        let size = file.metadata()?.len();
        if size != offset {
            return Ok(None);
        }
        let digest = PartialDigest::load(&files, &mut file, size)?;
        file.seek(SeekFrom::Start(size))?;
        Ok(Some(Self { files, file, digest }))
    }

    fn write(mut self, blocks: &[Bytes]) -> io::Result<Self> {
        let bytes = blocks.iter().map(|block| block.len() as u64).sum();
        self.files.room.take(bytes)?;
        let before = self.digest.size;
        let written = blocks.iter().try_for_each(|block| {
            self.file.write_all(block)?;
            self.digest.update(block);
            Ok::<_, io::Error>(())
        });
        if written.is_err() {
            // Of the block that failed some bytes may be there: they count when the files are measured anew.
            self.files.room.give_back(bytes - (self.digest.size - before));
        }
        written.map(|()| self)
    }

    /// Writes everything to the disk: what is reported stays.
    fn close(self) -> io::Result<u64> {
        self.file.sync_data()?;
        self.digest.save(&self.files.digest())?;
        Ok(self.digest.size)
    }
}

/// Locks a file until it is closed, for other processes with the same folder.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::from(io::ErrorKind::WouldBlock)),
        // Without locks of the file system those of the process are all there is.
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(()),
    }
}

/// Opens an upload as soon as no other process writes to it.
async fn open(files: UploadFiles, offset: u64) -> Result<Growing, BackendError> {
    let begun = Instant::now();
    loop {
        let opened = files.clone();
        match block("opening an upload", move || Growing::open(opened, offset)).await {
            Err(BackendError::Locked) if begun.elapsed() < LOCK_WAIT => tokio::time::sleep(LOCK_INTERVAL).await,
            opened => return opened?.ok_or(BackendError::Offset),
        }
    }
}

async fn append(files: UploadFiles, offset: u64, mut content: Content) -> Result<Appended, BackendError> {
    let mut growing = open(files, offset).await?;
    let mut interruption = None;
    let mut blocks: Vec<Bytes> = Vec::new();
    let mut waiting = 0;
    while let Some(received) = content.next().await {
        match received {
            Ok(bytes) => {
                waiting += bytes.len();
                blocks.push(bytes);
            }
            Err(error) => {
                interruption = Some(error);
                break;
            }
        }
        if waiting >= BLOCK {
            let ready = std::mem::take(&mut blocks);
            waiting = 0;
            growing = block("writing an upload", move || growing.write(&ready)).await?;
        }
    }
    drop(content);
    let size = block("writing an upload", move || growing.write(&blocks)?.close()).await?;
    Ok(Appended { size, interruption })
}

/// Makes an upload a file.
fn finish(files: &UploadFiles, target: &Path) -> io::Result<FileFacts> {
    let path = files.content();
    let mut file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => File::open(target)?,
        opened => opened?,
    };
    let mut found = facts(&file.metadata()?)?;
    let digest = PartialDigest::load(files, &mut file, found.size)?;
    found.etag = format!("\"{}\"", hex::encode(digest.state.finalize()));
    file.sync_data()?;
    match rename(&path, target) {
        // The file has its name already.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        result => result?,
    }
    Ok(found)
}

/// The uploads of which no file was written since a time.
fn list_idle(folders: &Folders, since: DateTime<Utc>) -> io::Result<Vec<Uuid>> {
    let mut newest = std::collections::BTreeMap::new();
    for entry in fs::read_dir(&folders.uploads)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.split('.').next()?.parse::<Uuid>().ok()) else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
        let written = DateTime::<Utc>::from(metadata.modified()?);
        newest.entry(id).and_modify(|time: &mut DateTime<Utc>| *time = written.max(*time)).or_insert(written);
    }
    Ok(newest.into_iter().filter(|(_, written)| *written < since).map(|(id, _)| id).collect())
}

impl DiskBackend {
    fn files(&self, id: Uuid) -> UploadFiles {
        UploadFiles { folders: Arc::clone(&self.folders), room: Arc::clone(&self.room), id }
    }
}

impl Staging for DiskBackend {
    fn create<'a>(&'a self, id: Uuid, description: &'a [u8]) -> BoxFuture<'a, Result<(), BackendError>> {
        let (files, description) = (self.files(id), description.to_vec());
        block("creating an upload", move || {
            File::create_new(files.content())?.sync_data()?;
            files.replace(&files.description(), &description)?;
            synchronise(&files.folders.uploads)
        })
        .boxed()
    }

    fn describe<'a>(&'a self, id: Uuid, description: &'a [u8]) -> BoxFuture<'a, Result<(), BackendError>> {
        let (files, description) = (self.files(id), description.to_vec());
        block("describing an upload", move || files.replace(&files.description(), &description)).boxed()
    }

    fn description(&self, id: Uuid) -> BoxFuture<'_, Result<Vec<u8>, BackendError>> {
        let files = self.files(id);
        block("reading an upload", move || fs::read(files.description())).boxed()
    }

    fn size(&self, id: Uuid) -> BoxFuture<'_, Result<u64, BackendError>> {
        let files = self.files(id);
        block("reading an upload", move || Ok(fs::metadata(files.content())?.len())).boxed()
    }

    fn append(&self, id: Uuid, offset: u64, content: Content) -> BoxFuture<'_, Result<Appended, BackendError>> {
        append(self.files(id), offset, content).boxed()
    }

    fn finish<'a>(
        &'a self,
        id: Uuid,
        target: &'a FileKey,
        _headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        let (files, target) = (self.files(id), self.folders.path(target));
        block("finishing an upload", move || finish(&files, &target)).boxed()
    }

    fn remove(&self, id: Uuid) -> BoxFuture<'_, Result<(), BackendError>> {
        let files = self.files(id);
        block("removing an upload", move || files.remove()).boxed()
    }

    fn list_idle(&self, since: DateTime<Utc>) -> BoxFuture<'_, Result<Vec<Uuid>, BackendError>> {
        let folders = Arc::clone(&self.folders);
        block("listing uploads", move || list_idle(&folders, since)).boxed()
    }
}
