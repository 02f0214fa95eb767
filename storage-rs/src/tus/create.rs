//! `POST`: an upload begins, with its first part or without.

use axum::body::Body;
use http::StatusCode;
use uuid::Uuid;

use super::answer::Answer;
use super::location::UploadId;
use super::metadata::UploadMetadata;
use super::problem::TusProblem;
use super::request::Request;
use super::upload::{Description, Upload, cache_control};
use crate::backend::BackendError;
use crate::error::Error;
use crate::mime;
use crate::objects::write;

impl Request {
    pub(super) async fn create(&mut self, body: Body) -> Result<Answer, TusProblem> {
        if self.header("upload-concat").is_some_and(|value| !value.is_empty()) {
            return Err(TusProblem::concatenation_unsupported());
        }
        let (length, is_deferred) = (self.number("upload-length"), self.header("upload-defer-length").is_some());
        if length.is_some() == is_deferred {
            return Err(TusProblem::length_required());
        }
        let metadata = self.header("upload-metadata").and_then(UploadMetadata::parse);
        let mut metadata = metadata.ok_or_else(TusProblem::metadata_required)?;
        let version: Uuid = write::new_version().parse().map_err(Error::internal)?;
        let id = UploadId {
            bucket: metadata.get("bucketName").unwrap_or_default().to_owned(),
            name: metadata.get("objectName").unwrap_or_default().to_owned(),
            version: version.to_string(),
        };
        id.check()?;
        metadata.set("cacheControl", cache_control(&metadata));
        let mut description = Description {
            bucket: id.bucket.clone(),
            name: id.name.clone(),
            size: length,
            metadata: metadata.format(),
            is_upsert: false,
            created_at: self.storage().now(),
            is_complete: false,
        };
        let (bucket, authorized) = self.authorize(&id, &description).await?;
        let maximum = self.size_limit(&bucket);
        if length.is_some_and(|length| length > maximum) {
            return Err(TusProblem::maximum_exceeded());
        }
        authorized?;
        description.is_upsert = self.is_upsert();
        // As in the reference: content without a type is none that a page shows, and is not checked.
        if let Some(declared) = description.declared_type() {
            mime::check(&declared, &bucket.mime_types)?;
        }
        self.storage().backend().check_room(length.unwrap_or_default()).await.map_err(Error::from)?;
        let turn = if self.has_part() { Some(self.call.wait_for_upload_turn().await?) } else { None };
        let mut upload = self.begin(version, description).await?;
        let mut answer = Answer::new(StatusCode::CREATED);
        let lock = self.lock(version).await?;
        if turn.is_some() {
            let written = self.write(&mut upload, body, maximum, &lock).await;
            if let Err(problem) = written {
                // The client does not know the URL: it begins anew.
                self.remove(version).await?;
                return Err(problem);
            }
            answer.set("upload-offset", &upload.offset.to_string());
        }
        if upload.is_full() {
            self.complete(upload, lock).await?;
            answer.set("tus-complete", "1");
        }
        answer.set("location", &self.location(&id));
        Ok(answer)
    }

    async fn begin(&self, version: Uuid, description: Description) -> Result<Upload, Error> {
        let storage = self.storage();
        if let Some(user) = self.counted_user() {
            let open = storage.open_uploads();
            if open.begin(&user, version, storage.now()).is_err() {
                self.end_missing(&user).await;
                open.begin(&user, version, storage.now())?;
            }
        }
        let created = Upload::create(storage.backend().staging(), version, description).await;
        if created.is_err() {
            storage.open_uploads().end(version);
        }
        created
    }

    /// Counts the uploads of a user no more that are not there: another server ended them, or their client hung up at the beginning.
    async fn end_missing(&self, user: &str) {
        let (staging, open) = (self.storage().backend().staging(), self.storage().open_uploads());
        for id in open.list(user) {
            if matches!(staging.size(id).await, Err(BackendError::NotFound)) {
                open.end(id);
            }
        }
    }

    /// Deletes an upload that is not complete.
    pub(super) async fn remove(&self, id: Uuid) -> Result<(), Error> {
        self.storage().backend().staging().remove(id).await?;
        self.storage().open_uploads().end(id);
        Ok(())
    }
}
