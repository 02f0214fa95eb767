//! Where the content of objects is kept.

pub mod disk;
mod error;
pub mod remote;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::future::{self, BoxFuture};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use uuid::Uuid;

pub use self::error::{BackendError, ContentError};

/// A file: the content of one version of one object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileKey {
    /// The id of the bucket.
    pub bucket: String,
    /// The name of the object.
    pub name: String,
    /// The version, a UUID that is new with every write; `None` for rows of old servers.
    pub version: Option<String>,
}

/// What a backend knows about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// In bytes.
    pub size: u64,
    /// The MD5 of the content in hexadecimal between quotation marks, or what the backend has instead.
    pub etag: String,
    /// When it was written.
    pub last_modified: DateTime<Utc>,
}

/// What is kept beside the content where the backend can: the row of the object has it too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContentHeaders {
    /// The media type.
    pub content_type: String,
    /// The value of `Cache-Control`.
    pub cache_control: String,
}

/// The content of a file, or of a body.
pub type Content = BoxStream<'static, Result<Bytes, ContentError>>;

/// The space of a backend on a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Of the file system.
    pub total: u64,
    /// That this process may still use.
    pub available: u64,
    /// What stays free of it for others, such as a database on the same file system.
    pub reserved: u64,
    /// What the files take, as far as it is known.
    pub used: Option<u64>,
    /// What they may take; `None` if only the file system limits it.
    pub quota: Option<u64>,
}

/// Whether uploads have space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceState {
    Sufficient,
    /// Less than a tenth of the quota is left, or of the file system less than a tenth of it and 10 GiB.
    Low,
    /// Uploads with content are refused.
    Exhausted,
}

/// The space that is low first is a tenth of all, on a large file system this.
const MOST_LOW: u64 = 10 * 1024 * 1024 * 1024;

impl Space {
    /// What files may still take of the file system, in bytes.
    pub fn left_on_file_system(&self) -> u64 {
        self.available.saturating_sub(self.reserved)
    }

    /// What files may still take of the quota, in bytes; `None` without a quota, or before the files are measured.
    pub fn left_of_quota(&self) -> Option<u64> {
        Some(self.quota?.saturating_sub(self.used?))
    }

    /// Whether the file system has space.
    pub fn file_system_state(&self) -> SpaceState {
        judge_space(self.left_on_file_system(), (self.total / 10).min(MOST_LOW))
    }

    /// Whether the quota leaves space.
    pub fn quota_state(&self) -> SpaceState {
        let of_quota = self.left_of_quota().zip(self.quota);
        of_quota.map_or(SpaceState::Sufficient, |(left, quota)| judge_space(left, quota / 10))
    }

    /// Whether uploads have space.
    pub fn state(&self) -> SpaceState {
        self.file_system_state().max(self.quota_state())
    }
}

fn judge_space(left: u64, low: u64) -> SpaceState {
    match left {
        0 => SpaceState::Exhausted,
        left if left < low => SpaceState::Low,
        _ => SpaceState::Sufficient,
    }
}

/// A file as the backend lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// What names the file inside the backend: equal to [`Backend::identify`] of its key.
    pub identity: String,
    /// The version of the key.
    pub version: Option<String>,
    /// In bytes.
    pub size: u64,
    /// When it got this name.
    pub named_at: DateTime<Utc>,
}

/// A store of files. Every write is all or nothing: a file that can be read is complete and stays after a crash.
pub trait Backend: Debug + Send + Sync {
    /// Writes a file. When the future is dropped or fails, nothing is left.
    fn put<'a>(
        &'a self,
        key: &'a FileKey,
        headers: &'a ContentHeaders,
        content: Content,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>>;

    /// Reads a file or a range of its bytes.
    fn get<'a>(
        &'a self,
        key: &'a FileKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'a, Result<(FileFacts, Content), BackendError>>;

    /// Says what is known about a file.
    fn head<'a>(&'a self, key: &'a FileKey) -> BoxFuture<'a, Result<FileFacts, BackendError>>;

    /// Copies a file.
    fn copy<'a>(
        &'a self,
        source: &'a FileKey,
        target: &'a FileKey,
        headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>>;

    /// Deletes files; those that do not exist count as deleted.
    fn delete<'a>(&'a self, keys: &'a [FileKey]) -> BoxFuture<'a, Result<(), BackendError>>;

    /// What names the file of a key inside the backend.
    fn identify(&self, key: &FileKey) -> String;

    /// Lists all files. The stream holds a bounded number of them.
    fn list(&self) -> BoxStream<'_, Result<ListedFile, BackendError>>;

    /// Deletes a listed file, if it still has the name that it had when it was listed.
    fn delete_listed<'a>(&'a self, file: &'a ListedFile) -> BoxFuture<'a, Result<(), BackendError>>;

    /// The space of the backend; `None` if it has no bounds.
    fn space(&self) -> BoxFuture<'_, Result<Option<Space>, BackendError>>;

    /// Refuses content of this size that has no room, before it arrives. Content that grows beyond the room fails on its way,
    /// whether this was asked or not.
    fn check_room(&self, size: u64) -> BoxFuture<'_, Result<(), BackendError>> {
        let _ = size;
        future::ready(Ok(())).boxed()
    }

    /// Content that arrives in several requests.
    fn staging(&self) -> &dyn Staging;

    /// Deletes what interrupted writes left behind and is older than this time.
    fn delete_leftovers(&self, older_than: DateTime<Utc>) -> BoxFuture<'_, Result<u64, BackendError>>;
}

/// What an append kept.
#[derive(Debug)]
pub struct Appended {
    /// The size with the bytes that were kept.
    pub size: u64,
    /// Why the content ended early: the bytes before that are kept.
    pub interruption: Option<ContentError>,
}

/// Content that arrives in several requests, each of which may be interrupted. Bytes that an append reported stay after a
/// crash. The caller lets one request at a time write to an upload.
pub trait Staging: Debug + Send + Sync {
    /// Begins an upload without content. The description is the caller's.
    fn create<'a>(&'a self, id: Uuid, description: &'a [u8]) -> BoxFuture<'a, Result<(), BackendError>>;

    /// Replaces the description.
    fn describe<'a>(&'a self, id: Uuid, description: &'a [u8]) -> BoxFuture<'a, Result<(), BackendError>>;

    fn description(&self, id: Uuid) -> BoxFuture<'_, Result<Vec<u8>, BackendError>>;

    /// The bytes that arrived; [`BackendError::NotFound`] also when the upload became a file.
    fn size(&self, id: Uuid) -> BoxFuture<'_, Result<u64, BackendError>>;

    /// Appends content behind `offset`, which is the size: [`BackendError::Offset`] otherwise.
    fn append(&self, id: Uuid, offset: u64, content: Content) -> BoxFuture<'_, Result<Appended, BackendError>>;

    /// Makes the content a file. A second call finds the file that the first one made.
    fn finish<'a>(
        &'a self,
        id: Uuid,
        target: &'a FileKey,
        headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>>;

    /// Deletes an upload: content and description. One that does not exist counts as deleted.
    fn remove(&self, id: Uuid) -> BoxFuture<'_, Result<(), BackendError>>;

    /// The uploads without a write since this time.
    fn list_idle(&self, since: DateTime<Utc>) -> BoxFuture<'_, Result<Vec<Uuid>, BackendError>>;
}

/// Reads files one after the other. Each is opened when the one before was read; the first at once.
///
/// # Errors
/// The first file cannot be opened.
pub async fn concatenate(backend: Arc<dyn Backend>, keys: Vec<FileKey>) -> Result<Content, BackendError> {
    let mut keys = keys.into_iter();
    let Some(first) = keys.next() else { return Ok(stream::empty().boxed()) };
    let (_, first) = backend.get(&first, None).await?;
    let rest = stream::iter(keys)
        .then(move |key| {
            let backend = Arc::clone(&backend);
            async move { backend.get(&key, None).await.map(|(_, content)| content) }
        })
        .map_err(|error| ContentError::Read(std::io::Error::other(error)))
        .try_flatten();
    Ok(first.chain(rest).boxed())
}
