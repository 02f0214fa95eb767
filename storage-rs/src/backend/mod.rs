//! Where the content of objects is kept.

use std::fmt::Debug;
use std::ops::Range;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::stream::BoxStream;

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

/// Why content ends early.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The client is gone, or its message is malformed.
    #[error("the content is incomplete")]
    Incomplete,
    /// More bytes than allowed.
    #[error("the content is larger than allowed")]
    TooLarge,
    /// Nothing arrived for too long.
    #[error("the content did not arrive in time")]
    TooSlow,
    /// It is not what its digest says.
    #[error("the content does not match its digest")]
    DigestMismatch,
    /// The file could not be read.
    #[error("reading content: {0}")]
    Read(#[source] std::io::Error),
}

/// Why a backend could not do something.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// There is no such file.
    #[error("the file does not exist")]
    NotFound,
    /// The content ended early: nothing was kept.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The name is too long, or the backend cannot have it.
    #[error("the backend cannot have this name")]
    Name,
    /// There is no space left.
    #[error("no space left")]
    NoSpace,
    /// Anything else.
    #[error("{attempt}: {source}")]
    Failed {
        /// What was attempted.
        attempt: &'static str,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
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
}
