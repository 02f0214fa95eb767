//! Operations on buckets.

use http::StatusCode;

use super::answer::S3Answer;
use super::request::Request;
use super::xml::Element;
use crate::buckets;
use crate::database::rows::{TIME, text as column};
use crate::database::{sql, text};
use crate::error::Error;

impl Request {
    pub(super) async fn list_buckets(self) -> Result<S3Answer, Error> {
        let statement = format!(
            "SELECT name, to_char(created_at AT TIME ZONE 'UTC', '{TIME}') FROM storage.buckets ORDER BY name COLLATE \"C\""
        );
        let rows = self.call.storage.database().run(&self.call.scope(), sql(&statement, [])).await?;
        let buckets = rows
            .iter()
            .map(|row| {
                let mut children = vec![Element::text("Name", column(row, 0).unwrap_or_default())];
                children.extend(column(row, 1).map(|time| Element::text("CreationDate", time)));
                Element::new("Bucket", children)
            })
            .collect();
        let root = Element::new("ListAllMyBucketsResult", vec![Element::new("Buckets", buckets)]);
        Ok(S3Answer::document(&root))
    }

    pub(super) async fn create_bucket(self) -> Result<S3Answer, Error> {
        let bucket = &self.target.bucket;
        let is_public = self.call.header("x-amz-acl") == Some("public-read");
        buckets::create_plain(&self.call, bucket, is_public).await?;
        Ok(S3Answer::new(StatusCode::OK).with("location", &format!("/{bucket}")))
    }

    pub(super) async fn delete_bucket(self) -> Result<S3Answer, Error> {
        buckets::remove(&self.call, &self.target.bucket).await?;
        Ok(S3Answer::new(StatusCode::NO_CONTENT))
    }

    /// Finds the bucket as the caller sees it.
    async fn find_visible_bucket(&self) -> Result<(), Error> {
        let bucket = self.target.bucket.as_str();
        let statement = sql("SELECT id FROM storage.buckets WHERE id = $1", [text(bucket)]);
        let rows = self.call.storage.database().run(&self.call.scope(), statement).await?;
        if rows.is_empty() { Err(Error::no_such_bucket(bucket)) } else { Ok(()) }
    }

    /// Finds the bucket as the server sees it.
    pub(super) async fn find_bucket(&self) -> Result<(), Error> {
        let bucket = self.target.bucket.as_str();
        let statement = sql("SELECT id FROM storage.buckets WHERE id = $1", [text(bucket)]);
        let rows = self.call.storage.database().run(&self.call.service_scope(), statement).await?;
        if rows.is_empty() { Err(Error::no_such_bucket(bucket)) } else { Ok(()) }
    }

    pub(super) async fn head_bucket(self) -> Result<S3Answer, Error> {
        self.find_visible_bucket().await?;
        let region = &self.call.storage.config().s3.region;
        Ok(S3Answer::new(StatusCode::OK).with("x-amz-bucket-region", region))
    }

    pub(super) async fn bucket_location(self) -> Result<S3Answer, Error> {
        self.find_visible_bucket().await?;
        let region = self.call.storage.config().s3.region.as_str();
        Ok(S3Answer::document(&Element::text("LocationConstraint", region)))
    }

    pub(super) async fn bucket_versioning(self) -> Result<S3Answer, Error> {
        self.find_visible_bucket().await?;
        let children = vec![Element::text("Status", "Suspended"), Element::text("MfaDelete", "Disabled")];
        Ok(S3Answer::document(&Element::new("VersioningConfiguration", children)))
    }
}
