//! `PATCH`, `HEAD` and `DELETE`: an upload goes on, is asked for, and ends.

use std::sync::Arc;

use axum::body::Body;
use http::StatusCode;
use uuid::Uuid;

use super::answer::Answer;
use super::location::UploadId;
use super::problem::TusProblem;
use super::request::Request;
use super::upload::Upload;
use crate::backend::{BackendError, ContentError};
use crate::database::scope::Scope;
use crate::error::Error;
use crate::objects::content::body_content;
use crate::objects::write::{self, NewObject};
use crate::request::complete;
use crate::storage::Storage;
use crate::target::Target;
use crate::upload_locks::UploadLock;

impl Request {
    fn parse_id(segment: &str) -> Result<UploadId, TusProblem> {
        if segment.is_empty() {
            return Err(TusProblem::not_found());
        }
        Ok(UploadId::parse(segment)?)
    }

    /// Waits until no other request works on an upload.
    pub(super) async fn lock(&self, id: Uuid) -> Result<UploadLock, TusProblem> {
        self.storage().upload_locks().acquire(id).await.ok_or_else(TusProblem::lock_timeout)
    }

    async fn find(&self, id: &UploadId) -> Result<Upload, TusProblem> {
        Upload::find(self.storage().backend().staging(), id).await
    }

    pub(super) async fn append(&mut self, body: Body, segment: &str) -> Result<Answer, TusProblem> {
        if segment.is_empty() {
            return Err(TusProblem::not_found());
        }
        let offset = self.number("upload-offset").ok_or_else(TusProblem::offset_required)?;
        if self.header("content-type").is_none() {
            return Err(TusProblem::content_type_required());
        }
        let id = Self::parse_id(segment)?;
        let known = self.find(&id).await?;
        let (bucket, authorized) = self.authorize(&id, &known.description).await?;
        authorized?;
        let maximum = self.size_limit(&bucket);
        let _turn = self.call.wait_for_upload_turn().await?;
        let lock = self.lock(known.id).await?;
        // While this request waited, another one may have written.
        let mut upload = self.find(&id).await?;
        if upload.offset != offset {
            return Err(TusProblem::offset_conflict());
        }
        if let Some(length) = self.number("upload-length") {
            if upload.description.size.is_some() || length < upload.offset {
                return Err(TusProblem::length_required());
            }
            if length > maximum {
                return Err(TusProblem::maximum_exceeded());
            }
            upload.description.size = Some(length);
            upload.save(self.storage().backend().staging()).await?;
        }
        if !upload.is_full() {
            self.write(&mut upload, body, maximum, &lock).await?;
        } else if self.call.content_length().is_some_and(|length| length > 0) {
            return Err(TusProblem::size_exceeded());
        }
        let mut answer = Answer::new(StatusCode::NO_CONTENT);
        answer.set("upload-offset", &upload.offset.to_string());
        if upload.is_full() {
            self.complete(upload, lock).await?;
            answer.set("tus-complete", "1");
        }
        Ok(answer)
    }

    /// Appends a body to an upload. What arrives before an interruption is kept.
    pub(super) async fn write(
        &self,
        upload: &mut Upload,
        body: Body,
        maximum: u64,
        lock: &UploadLock,
    ) -> Result<(), TusProblem> {
        let length = self.call.content_length();
        let bound = upload.description.size.unwrap_or(maximum);
        let room = bound.saturating_sub(upload.offset);
        if length.unwrap_or_default() > room {
            return Err(TusProblem::size_exceeded());
        }
        let content = lock.bind(body_content(body, length.unwrap_or(room)));
        let staging = self.storage().backend().staging();
        let appended = staging.append(upload.id, upload.offset, content).await.map_err(|error| match error {
            BackendError::Locked => TusProblem::lock_timeout(),
            BackendError::Offset => TusProblem::offset_conflict(),
            error => Error::from(error).into(),
        })?;
        upload.offset = appended.size;
        match appended.interruption {
            None => Ok(()),
            Some(ContentError::TooLarge) => Err(TusProblem::maximum_exceeded()),
            Some(_) if lock.is_wanted() => Err(TusProblem::aborted()),
            Some(error) => Err(Error::from(error).into()),
        }
    }

    /// Makes a full upload an object, also when the client is gone by now. The lock is held until then.
    pub(super) async fn complete(&self, upload: Upload, lock: UploadLock) -> Result<(), TusProblem> {
        if upload.description.is_complete {
            return Ok(());
        }
        let completion = Completion {
            storage: Arc::clone(&self.call.storage),
            service: self.call.service_scope(),
            owner: self.owner().map(str::to_owned),
            replaces: self.is_upsert() || upload.description.is_upsert,
            upload,
        };
        Ok(complete(async move {
            let completed = completion.run().await;
            drop(lock);
            completed
        })
        .await?)
    }

    pub(super) async fn report(&mut self, segment: &str) -> Result<Answer, TusProblem> {
        let id = Self::parse_id(segment)?;
        if self.is_signed {
            self.verify_signature(&id)?;
        }
        let known = self.find(&id).await?;
        let lock = self.lock(known.id).await?;
        let upload = self.find(&id).await?;
        if upload.is_full() && !upload.description.is_complete {
            // The server stopped between the last byte and the row, or another one writes the row just now.
            match self.authorize(&id, &upload.description).await?.1 {
                Ok(()) => self.complete(upload.clone(), lock).await?,
                Err(problem) if !self.has_row(&upload).await? => return Err(problem),
                Err(_) => {}
            }
        }
        let mut answer = Answer::new(StatusCode::OK);
        answer.set("cache-control", "no-store");
        answer.set("upload-offset", &upload.offset.to_string());
        match upload.description.size {
            Some(size) => answer.set("upload-length", &size.to_string()),
            None => answer.set("upload-defer-length", "1"),
        }
        answer.set("upload-metadata", &upload.description.metadata);
        Ok(answer)
    }

    /// Whether the object of an upload was written. The right to write it a second time does not count then.
    async fn has_row(&self, upload: &Upload) -> Result<bool, Error> {
        let (service, file) = (self.call.service_scope(), upload.description.file(upload.id));
        let target = Target { bucket: file.bucket, name: file.name };
        write::has_version(self.storage(), &service, &target, &upload.id.to_string()).await
    }

    pub(super) async fn terminate(&mut self, segment: &str) -> Result<Answer, TusProblem> {
        let id = Self::parse_id(segment)?;
        if self.is_signed {
            self.verify_signature(&id)?;
        } else {
            let known = self.find(&id).await?;
            self.authorize(&id, &known.description).await?.1?;
        }
        let known = self.find(&id).await?;
        let _lock = self.lock(known.id).await?;
        let upload = self.find(&id).await?;
        if upload.is_full() {
            return Err(TusProblem::already_complete());
        }
        self.remove(upload.id).await?;
        Ok(Answer::new(StatusCode::NO_CONTENT))
    }
}

/// A full upload that becomes an object.
struct Completion {
    storage: Arc<Storage>,
    service: Scope,
    owner: Option<String>,
    replaces: bool,
    upload: Upload,
}

impl Completion {
    async fn run(mut self) -> Result<(), Error> {
        let staging = self.storage.backend().staging();
        let description = &self.upload.description;
        let (file, headers) = (description.file(self.upload.id), description.headers());
        let facts = staging.finish(self.upload.id, &file, &headers).await?;
        let object = NewObject {
            target: Target { bucket: file.bucket.clone(), name: file.name.clone() },
            version: self.upload.id.to_string(),
            owner: self.owner.take(),
            metadata: write::metadata(&facts, &headers.content_type, &headers.cache_control, None),
            user_metadata: description.user_metadata(),
            replaces: self.replaces,
        };
        match write::write_row(&self.storage, &self.service, &object).await {
            Ok(written) => {
                if let Some(replaced) = &written.replaced {
                    self.storage.delete_files(std::slice::from_ref(replaced)).await;
                }
            }
            Err(error) => {
                // After a failure of the database the file waits for the next request; otherwise it never becomes an object.
                if error.status < 500 {
                    self.storage.delete_files(std::slice::from_ref(&file)).await;
                    staging.remove(self.upload.id).await?;
                    self.storage.open_uploads().end(self.upload.id);
                }
                return Err(error);
            }
        }
        self.storage.open_uploads().end(self.upload.id);
        self.upload.description.is_complete = true;
        self.upload.save(staging).await
    }
}
