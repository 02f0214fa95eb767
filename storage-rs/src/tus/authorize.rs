//! Whether the sender of a request may write the object of an upload.

use super::location::UploadId;
use super::problem::TusProblem;
use super::request::Request;
use super::upload::Description;
use crate::objects::write::{self, BucketLimits, NewObject};
use crate::target::Target;

impl Request {
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
