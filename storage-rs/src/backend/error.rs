//! Errors of backends, and what they mean to clients.

use crate::error::{Code, Error};

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
    /// A chunk is not signed by the sender of the request.
    #[error("the signature of a chunk is wrong")]
    ChunkSignature,
    /// The chunks are not those of `aws-chunked`.
    #[error("the chunks are malformed: {0}")]
    Chunk(&'static str),
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
    /// The files take as much as they may.
    #[error("the quota is exhausted")]
    Quota,
    /// Another process writes to the upload.
    #[error("another process writes to the upload")]
    Locked,
    /// The upload has another size: another process wrote to it.
    #[error("the size of the upload is not the offset")]
    Offset,
    /// Anything else.
    #[error("{attempt}: {source}")]
    Failed {
        /// What was attempted.
        attempt: &'static str,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl From<ContentError> for Error {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::TooLarge => Self::too_large(),
            ContentError::Incomplete => Self::no_content("Request stream closed before upload could complete"),
            ContentError::TooSlow => Self::no_content("The content did not arrive in time"),
            ContentError::DigestMismatch => {
                Self::new(Code::InvalidChecksum, 400, "The checksum of the content is wrong")
            }
            ContentError::ChunkSignature => {
                Self::new(Code::SignatureDoesNotMatch, 403, "The signature of a chunk does not match")
            }
            ContentError::Chunk(reason) => Self::no_content(reason),
            ContentError::Read(error) => Self::internal(error),
        }
    }
}

impl From<BackendError> for Error {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::Content(error) => error.into(),
            BackendError::NotFound => Self::named(Code::NoSuchKey, 404, "Not found", "The resource was not found"),
            BackendError::Name => Self::new(Code::InvalidKey, 400, "Invalid key"),
            BackendError::NoSpace => Self::insufficient_storage(),
            BackendError::Quota => Self::quota_exhausted(),
            BackendError::Locked => Self::resource_locked(),
            BackendError::Offset => Self::internal("an upload has another size than it had"),
            BackendError::Failed { attempt, source } => Self::internal(format!("{attempt}: {source}")),
        }
    }
}
