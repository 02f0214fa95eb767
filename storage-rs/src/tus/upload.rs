//! An upload: its description, and the state it is in.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::location::UploadId;
use super::metadata::UploadMetadata;
use super::problem::TusProblem;
use crate::backend::{BackendError, ContentHeaders, FileKey, Staging};
use crate::error::Error;
use crate::objects::user_metadata::user_metadata_column;

/// The type of content without one.
const DEFAULT_TYPE: &str = "application/octet-stream";

/// What is kept of an upload beside its content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Description {
    pub bucket: String,
    /// The name of the object.
    pub name: String,
    /// In bytes; `None` as long as the client did not say it.
    pub size: Option<u64>,
    /// The header `Upload-Metadata`.
    pub metadata: String,
    /// Whether an object may be replaced.
    pub is_upsert: bool,
    /// When the upload began.
    pub created_at: DateTime<Utc>,
    /// Whether the object was written.
    pub is_complete: bool,
}

/// An upload and how much of it arrived.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub id: Uuid,
    pub description: Description,
    /// The bytes that arrived.
    pub offset: u64,
}

impl Description {
    fn metadata(&self) -> UploadMetadata {
        UploadMetadata::parse(&self.metadata).unwrap_or_default()
    }

    /// The type that the client declared.
    pub(super) fn declared_type(&self) -> Option<String> {
        self.metadata().get("contentType").map(str::to_owned)
    }

    /// What is kept beside the content.
    pub(super) fn headers(&self) -> ContentHeaders {
        let metadata = self.metadata();
        ContentHeaders {
            content_type: metadata.get("contentType").unwrap_or(DEFAULT_TYPE).to_owned(),
            cache_control: metadata.get("cacheControl").unwrap_or("no-cache").to_owned(),
        }
    }

    /// The metadata of the user: JSON. What is none is left out.
    pub(super) fn user_metadata(&self) -> Option<Value> {
        let sent = serde_json::from_str(self.metadata().get("metadata")?).ok()?;
        Some(user_metadata_column(Some(sent)))
    }

    /// The file of the finished upload.
    pub(super) fn file(&self, id: Uuid) -> FileKey {
        FileKey { bucket: self.bucket.clone(), name: self.name.clone(), version: Some(id.to_string()) }
    }

    fn to_json(&self) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(self).map_err(Error::internal)
    }
}

/// The value of `Cache-Control` for the one in the metadata: a number of seconds, or nothing.
pub(super) fn cache_control(metadata: &UploadMetadata) -> String {
    let seconds = metadata.get("cacheControl").unwrap_or_default();
    let digits = seconds.strip_prefix('-').unwrap_or(seconds);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("max-age={seconds}")
    } else {
        "no-cache".to_owned()
    }
}

impl Upload {
    /// Begins an upload.
    pub(super) async fn create(staging: &dyn Staging, id: Uuid, description: Description) -> Result<Self, Error> {
        staging.create(id, &description.to_json()?).await?;
        Ok(Self { id, description, offset: 0 })
    }

    /// Finds an upload by what its URL says.
    pub(super) async fn find(staging: &dyn Staging, id: &UploadId) -> Result<Self, TusProblem> {
        let version: Uuid = id.version.parse().map_err(|_| TusProblem::not_found())?;
        let description = match staging.description(version).await {
            Ok(description) => description,
            Err(BackendError::NotFound) => return Err(TusProblem::not_found()),
            Err(error) => return Err(Error::from(error).into()),
        };
        let description: Description = serde_json::from_slice(&description).map_err(Error::internal)?;
        if description.bucket != id.bucket || description.name != id.name {
            return Err(TusProblem::not_found());
        }
        let offset = match (staging.size(version).await, description.size) {
            // Without a size of its own the content became a file.
            (Ok(size), _) | (Err(BackendError::NotFound), Some(size)) => size,
            (Err(BackendError::NotFound), None) => return Err(TusProblem::expired()),
            (Err(error), _) => return Err(Error::from(error).into()),
        };
        Ok(Self { id: version, description, offset })
    }

    /// Whether all bytes arrived.
    pub(super) fn is_full(&self) -> bool {
        self.description.size == Some(self.offset)
    }

    /// Saves a changed description.
    pub(super) async fn save(&self, staging: &dyn Staging) -> Result<(), Error> {
        Ok(staging.describe(self.id, &self.description.to_json()?).await?)
    }
}
