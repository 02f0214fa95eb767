//! Files on a local disk.
//!
//! Names of objects never become paths: a file is named by the digest of bucket and name, and by its version. Content is
//! written to a file in `incoming`, synchronised, and renamed into `objects`; the folder is synchronised too, so that a file
//! which a row names survives a crash.

mod read;
mod staging;
mod walk;
mod write;

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::digest::{SHA256, digest};
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use uuid::Uuid;

use super::{Backend, BackendError, Content, ContentHeaders, FileFacts, FileKey, ListedFile, Space, Staging};

/// The bytes that are read from or written to a file at once.
const BLOCK: usize = 256 * 1024;
/// The longest version that is part of a path as it is.
const MAXIMUM_VERSION: usize = 64;

/// The folders of a store and what names its temporary files.
#[derive(Debug)]
struct Folders {
    objects: PathBuf,
    incoming: PathBuf,
    uploads: PathBuf,
    /// Differs each time a folder is opened.
    opened: Uuid,
    temporary: AtomicU64,
}

/// Files in a folder.
#[derive(Debug, Clone)]
pub struct DiskBackend {
    folders: Arc<Folders>,
}

impl DiskBackend {
    /// Opens the store in this folder, which is created if it is not there.
    ///
    /// # Errors
    /// A folder cannot be created.
    pub fn open(root: &Path) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "names of temporary files only have to differ")]
        let opened = Uuid::new_v4();
        let folders = Folders {
            opened,
            objects: root.join("objects"),
            incoming: root.join("incoming"),
            uploads: root.join("uploads"),
            temporary: AtomicU64::new(0),
        };
        for folder in [&folders.objects, &folders.incoming, &folders.uploads] {
            fs::create_dir_all(folder)?;
        }
        for number in 0..=u8::MAX {
            let folder = folders.objects.join(format!("{number:02x}"));
            if !folder.exists() {
                create_folder(&folder)?;
            }
        }
        synchronise(&folders.objects)?;
        synchronise(root)?;
        Ok(Self { folders: Arc::new(folders) })
    }
}

/// Creates a folder, which another process may create too.
fn create_folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Writes the entries of a folder to the disk.
fn synchronise(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

impl Folders {
    /// The path of a file.
    fn path(&self, key: &FileKey) -> PathBuf {
        let name = file_name(key);
        self.objects.join(&name[..2]).join(name)
    }

    /// A path for a temporary file, which no other process uses, on another machine with the same folder either.
    fn temporary_path(&self) -> PathBuf {
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        self.incoming.join(format!("{}-{number}", self.opened))
    }
}

/// The name of a file: the digest of bucket and name, and the version.
fn file_name(key: &FileKey) -> String {
    let mut text = Vec::with_capacity(key.bucket.len() + key.name.len() + 1);
    text.extend_from_slice(key.bucket.as_bytes());
    text.push(0);
    text.extend_from_slice(key.name.as_bytes());
    let object = hex::encode(&digest(&SHA256, &text).as_ref()[..20]);
    match key.version.as_deref() {
        None => object,
        Some(version) if is_plain(version) => format!("{object}.{version}"),
        // Versions of other servers can be any text.
        Some(version) => format!("{object}.v{}", hex::encode(digest(&SHA256, version.as_bytes()).as_ref())),
    }
}

/// Whether a version can be part of a path.
fn is_plain(version: &str) -> bool {
    !version.is_empty()
        && version.len() <= MAXIMUM_VERSION
        && !version.starts_with('v')
        && version.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Wraps an error of the file system.
fn failed(attempt: &'static str, error: io::Error) -> BackendError {
    match error.kind() {
        io::ErrorKind::NotFound => BackendError::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => BackendError::NoSpace,
        io::ErrorKind::WouldBlock => BackendError::Locked,
        _ => BackendError::Failed { attempt, source: Box::new(error) },
    }
}

/// Runs file operations outside the threads of requests.
async fn block<T: Send + 'static>(
    attempt: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, BackendError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| failed(attempt, error)),
        Err(error) => Err(BackendError::Failed { attempt, source: Box::new(error) }),
    }
}

/// What the file system knows about a file. The MD5 is not known without reading the file.
fn facts(metadata: &fs::Metadata) -> io::Result<FileFacts> {
    if !metadata.is_file() {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    let etag = format!("\"{:x}-{:x}\"", metadata.mtime_nsec().saturating_add(metadata.mtime() << 30), metadata.len());
    Ok(FileFacts { size: metadata.len(), etag, last_modified: DateTime::<Utc>::from(metadata.modified()?) })
}

impl Backend for DiskBackend {
    fn put<'a>(
        &'a self,
        key: &'a FileKey,
        _headers: &'a ContentHeaders,
        content: Content,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        write::put(Arc::clone(&self.folders), self.folders.path(key), content).boxed()
    }

    fn get<'a>(
        &'a self,
        key: &'a FileKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'a, Result<(FileFacts, Content), BackendError>> {
        read::get(self.folders.path(key), range).boxed()
    }

    fn head<'a>(&'a self, key: &'a FileKey) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        let path = self.folders.path(key);
        block("reading the state of a file", move || facts(&fs::metadata(path)?)).boxed()
    }

    fn copy<'a>(
        &'a self,
        source: &'a FileKey,
        target: &'a FileKey,
        _headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        let (source, target) = (self.folders.path(source), self.folders.path(target));
        let folders = Arc::clone(&self.folders);
        block("copying a file", move || write::copy(&folders, &source, &target)).boxed()
    }

    fn delete<'a>(&'a self, keys: &'a [FileKey]) -> BoxFuture<'a, Result<(), BackendError>> {
        let paths: Vec<_> = keys.iter().map(|key| self.folders.path(key)).collect();
        block("deleting files", move || paths.iter().try_for_each(|path| remove(path))).boxed()
    }

    fn identify(&self, key: &FileKey) -> String {
        file_name(key)
    }

    fn list(&self) -> BoxStream<'_, Result<ListedFile, BackendError>> {
        walk::list(Arc::clone(&self.folders)).boxed()
    }

    fn delete_listed<'a>(&'a self, file: &'a ListedFile) -> BoxFuture<'a, Result<(), BackendError>> {
        let (folders, file) = (Arc::clone(&self.folders), file.clone());
        block("deleting a file without a row", move || walk::delete(&folders, &file)).boxed()
    }

    fn space(&self) -> BoxFuture<'_, Result<Option<Space>, BackendError>> {
        let folder = self.folders.objects.clone();
        block("reading the free space", move || {
            let found = rustix::fs::statvfs(&folder)?;
            let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
            Ok(Some(Space { total: bytes(found.f_blocks), available: bytes(found.f_bavail) }))
        })
        .boxed()
    }

    fn staging(&self) -> &dyn Staging {
        self
    }

    fn delete_leftovers(&self, older_than: DateTime<Utc>) -> BoxFuture<'_, Result<u64, BackendError>> {
        let folders = Arc::clone(&self.folders);
        block("deleting interrupted writes", move || walk::delete_leftovers(&folders.incoming, older_than)).boxed()
    }
}

/// Deletes a file that may be gone already.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests;
