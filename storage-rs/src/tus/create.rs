//! `POST`: an upload begins, with its first part or without.

use axum::body::Body;
use http::StatusCode;
use uuid::Uuid;

use super::location::UploadId;
use super::metadata::UploadMetadata;
use super::problem::TusProblem;
use super::upload::{Description, Upload, cache_control};
use super::{Answer, Request};
use crate::error::Error;
use crate::mime;
use crate::objects::Target;
use crate::objects::write::{self, BucketLimits, NewObject};

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
        let mut upload = self.begin(version, description).await?;
        let mut answer = Answer::new(StatusCode::CREATED);
        let lock = self.lock(version).await?;
        if self.has_part() {
            let written = self.write(&mut upload, body, maximum, &lock).await;
            if let Err(problem) = written {
                // The client does not know the URL: it begins anew.
                self.storage().backend().staging().remove(version).await.map_err(Error::from)?;
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
        Upload::create(self.storage().backend().staging(), version, description).await
    }

    /// Reads the limits of the bucket, and tests whether the sender may write the object.
    pub(super) async fn authorize(
        &mut self,
        id: &UploadId,
        description: &Description,
    ) -> Result<(BucketLimits, Result<(), TusProblem>), TusProblem> {
        let (service, caller) = (self.call.service_scope(), self.call.scope());
        if self.is_signed {
            let rows = self.storage().database().run(&service, write::select_limits(&id.bucket)).await?;
            let limits = write::read_limits(&rows, &id.bucket)?;
            return Ok((limits, self.verify_signature(id)));
        }
        let declared_type = description.declared_type();
        let object = NewObject {
            target: Target { bucket: id.bucket.clone(), name: id.name.clone() },
            version: id.version.clone(),
            owner: self.call.caller.owner.clone(),
            metadata: write::announced_metadata(declared_type.as_deref(), description.size),
            user_metadata: description.user_metadata(),
            replaces: self.call.is_upsert(),
        };
        let (limits, tested) = write::test(self.storage(), &service, &caller, &object).await?;
        Ok((limits, tested.map_err(TusProblem::from)))
    }

    /// The largest object of a bucket, in bytes.
    pub(super) fn size_limit(&self, bucket: &BucketLimits) -> u64 {
        let maximum = self.storage().config().file_size_limit;
        // The reference takes zero for no limit here.
        bucket.size.filter(|size| *size > 0).unwrap_or(maximum).min(maximum)
    }
}
