//! Operations of the file system, and what its errors mean.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use chrono::{DateTime, Utc};

use crate::backend::{BackendError, FileFacts};

/// The bytes that are read from or written to a file at once.
pub(super) const BLOCK: usize = 256 * 1024;

/// Creates a folder, which another process may create too.
pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Writes the entries of a folder to the disk.
pub(super) fn synchronise(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Deletes a file that may be gone already; returns whether it was there.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Wraps an error of the file system.
pub(super) fn failed(attempt: &'static str, error: io::Error) -> BackendError {
    match error.kind() {
        io::ErrorKind::NotFound => BackendError::NotFound,
        io::ErrorKind::StorageFull => BackendError::NoSpace,
        io::ErrorKind::QuotaExceeded => BackendError::Quota,
        io::ErrorKind::WouldBlock => BackendError::Locked,
        _ => BackendError::Failed { attempt, source: Box::new(error) },
    }
}

/// Runs file operations outside the threads of requests.
pub(super) async fn block<T: Send + 'static>(
    attempt: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, BackendError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| failed(attempt, error)),
        Err(error) => Err(BackendError::Failed { attempt, source: Box::new(error) }),
    }
}

/// What the file system knows about a file. The MD5 is not known without reading the file.
pub(super) fn facts(metadata: &fs::Metadata) -> io::Result<FileFacts> {
    if !metadata.is_file() {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    let etag = format!("\"{:x}-{:x}\"", metadata.mtime_nsec().saturating_add(metadata.mtime() << 30), metadata.len());
    Ok(FileFacts { size: metadata.len(), etag, last_modified: DateTime::<Utc>::from(metadata.modified()?) })
}
