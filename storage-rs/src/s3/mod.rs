//! The S3 protocol: its operations over the same buckets, objects and policies.
//!
//! Requests are signed (AWS Signature Version 4). The access key of the server has the rights of the service role. A session
//! has the name of the project as its access key, the anonymous key as its secret and the token of a user as its session
//! token: row security decides about it.

mod answer;
mod authenticate;
mod buckets;
mod chunked;
mod completion;
mod digests;
mod list;
mod multipart;
mod multipart_rows;
mod objects;
mod policy;
mod post_form;
mod request;
mod sub_resource;
mod upload;
mod xml;

use std::sync::Arc;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};

use self::answer::{S3Answer, failure};
use self::request::Request;
use crate::caller::Caller;
use crate::error::Error;
use crate::request::{Call, Query, decode_path};
use crate::response;
use crate::storage::Storage;
use crate::target::Target;

/// An operation of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    ListBuckets,
    CreateBucket,
    DeleteBucket,
    HeadBucket,
    GetBucketLocation,
    GetBucketVersioning,
    ListObjects,
    ListObjectsV2,
    ListMultipartUploads,
    DeleteObjects,
    PostObject,
    UploadPartCopy,
    CopyObject,
    UploadPart,
    PutObject,
    CompleteMultipartUpload,
    CreateMultipartUpload,
    AbortMultipartUpload,
    DeleteObject,
    ListParts,
    GetObjectTagging,
    GetObject,
    HeadObject,
    /// An operation on a sub-resource of this name, which is not served.
    Unserved(&'static str),
}

impl Operation {
    /// The operation of a request; the first that fits counts.
    fn find(method: &Method, has_bucket: bool, has_name: bool, query: &Query, headers: &HeaderMap) -> Option<Self> {
        let has = |name: &str| query.get(name).is_some();
        let copies = headers.contains_key("x-amz-copy-source");
        let is_part = has("uploadId") && has("partNumber");
        let is_form = headers
            .get(http::header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"multipart/form-data"));
        // Before all others: a request about the tags of an object would replace or delete the object itself.
        if has_bucket && let Some(name) = sub_resource::find_unserved(method, has_name, query) {
            return Some(Self::Unserved(name));
        }
        Some(match (method.as_str(), has_bucket, has_name) {
            ("GET", false, _) => Self::ListBuckets,
            ("GET", true, false) if has("uploads") => Self::ListMultipartUploads,
            ("GET", true, false) if has("location") => Self::GetBucketLocation,
            ("GET", true, false) if has("versioning") => Self::GetBucketVersioning,
            ("GET", true, false) if query.get("list-type") == Some("2") => Self::ListObjectsV2,
            ("GET", true, false) => Self::ListObjects,
            ("HEAD", true, false) => Self::HeadBucket,
            ("PUT", true, false) => Self::CreateBucket,
            ("DELETE", true, false) => Self::DeleteBucket,
            ("POST", true, false) if has("delete") => Self::DeleteObjects,
            ("POST", true, false) if is_form => Self::PostObject,
            ("PUT", true, true) if is_part && copies => Self::UploadPartCopy,
            ("PUT", true, true) if copies => Self::CopyObject,
            ("PUT", true, true) if is_part => Self::UploadPart,
            ("PUT", true, true) => Self::PutObject,
            ("POST", true, true) if has("uploadId") => Self::CompleteMultipartUpload,
            ("POST", true, true) if has("uploads") => Self::CreateMultipartUpload,
            ("DELETE", true, true) if has("uploadId") => Self::AbortMultipartUpload,
            ("DELETE", true, true) => Self::DeleteObject,
            ("GET", true, true) if has("uploadId") => Self::ListParts,
            ("GET", true, true) if has("tagging") => Self::GetObjectTagging,
            ("GET", true, true) => Self::GetObject,
            ("HEAD", true, true) => Self::HeadObject,
            _ => return None,
        })
    }

    /// The name of the operation, for policies.
    fn name(self) -> &'static str {
        match self {
            Self::ListBuckets => "storage.s3.bucket.list",
            Self::CreateBucket => "storage.s3.bucket.create",
            Self::DeleteBucket => "storage.s3.bucket.delete",
            Self::HeadBucket => "storage.s3.bucket.head",
            Self::GetBucketLocation => "storage.s3.bucket.get_location",
            Self::GetBucketVersioning => "storage.s3.bucket.get_versioning",
            Self::ListObjects | Self::ListObjectsV2 => "storage.s3.object.list",
            Self::ListMultipartUploads => "storage.s3.upload.list_multipart",
            Self::DeleteObjects => "storage.s3.object.delete_many",
            Self::PostObject | Self::PutObject => "storage.s3.upload",
            Self::UploadPartCopy => "storage.s3.upload.part_copy",
            Self::CopyObject => "storage.s3.object.copy",
            Self::UploadPart => "storage.s3.upload.part",
            Self::CompleteMultipartUpload => "storage.s3.upload.complete_multipart",
            Self::CreateMultipartUpload => "storage.s3.upload.create_multipart",
            Self::AbortMultipartUpload => "storage.s3.upload.abort_multipart",
            Self::DeleteObject => "storage.s3.object.delete",
            Self::ListParts => "storage.s3.upload.list_parts",
            Self::GetObjectTagging => "storage.s3.object.get_tagging",
            Self::GetObject => "storage.s3.object.get",
            Self::HeadObject => "storage.s3.object.info",
            Self::Unserved(_) => "",
        }
    }

    /// Whether the body is the content of an object.
    fn has_content(self) -> bool {
        matches!(self, Self::PutObject | Self::UploadPart)
    }
}

/// Answers a request. `rest` is the path behind `/s3`, as it was sent.
pub async fn handle(storage: &Arc<Storage>, parts: Parts, body: Body, rest: &str) -> Response<Body> {
    let method = parts.method.clone();
    let path = rest.trim_start_matches('/');
    let (bucket, name) = path.split_once('/').unwrap_or((path, ""));
    let (Some(bucket), Some(name)) = (decode_path(bucket), decode_path(name)) else {
        return response::bad_path(&format!("/s3{rest}"));
    };
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let found = Operation::find(&method, !bucket.is_empty(), !name.is_empty(), &query, &parts.headers);
    let Some(operation) = found else {
        return response::no_route(method.as_str(), &format!("/s3{rest}"), false);
    };
    let resource = answer::resource(rest);
    let mut call = Call {
        storage: Arc::clone(storage),
        query,
        path: format!("/s3{rest}"),
        operation: operation.name(),
        caller: Caller::anonymous(),
        parts,
    };
    let target = Target { bucket, name };
    let outcome = if operation == Operation::PostObject {
        post_form::post_object(call, target, body).await
    } else {
        match authenticate::authenticate(&mut call) {
            Ok(signed) => Request { call, target, signed }.dispatch(operation, body).await,
            Err(error) => Err(error),
        }
    };
    match outcome {
        Ok(answer) => answer.into_response(),
        Err(error) => failure(&error, resource),
    }
}

impl Request {
    async fn dispatch(self, operation: Operation, body: Body) -> Result<S3Answer, Error> {
        if operation.has_content() {
            return match operation {
                Operation::UploadPart => self.upload_part(body).await,
                _ => self.put_object(body).await,
            };
        }
        match operation {
            Operation::ListBuckets => self.list_buckets().await,
            Operation::CreateBucket => self.create_bucket().await,
            Operation::DeleteBucket => self.delete_bucket().await,
            Operation::HeadBucket => self.head_bucket().await,
            Operation::GetBucketLocation => self.bucket_location().await,
            Operation::GetBucketVersioning => self.bucket_versioning().await,
            Operation::ListObjects => self.list_objects(false).await,
            Operation::ListObjectsV2 => self.list_objects(true).await,
            Operation::ListMultipartUploads => self.list_uploads().await,
            Operation::DeleteObjects => self.delete_objects(body).await,
            Operation::UploadPartCopy => self.upload_part_copy().await,
            Operation::CopyObject => self.copy_object().await,
            Operation::CompleteMultipartUpload => self.complete_upload(body).await,
            Operation::CreateMultipartUpload => self.create_upload().await,
            Operation::AbortMultipartUpload => self.abort_upload().await,
            Operation::DeleteObject => self.delete_object().await,
            Operation::ListParts => self.list_parts().await,
            Operation::GetObjectTagging => self.object_tagging().await,
            Operation::GetObject => self.get_object().await,
            Operation::HeadObject => self.head_object().await,
            Operation::Unserved(name) => Err(Error::not_implemented(name)),
            Operation::PutObject | Operation::UploadPart | Operation::PostObject => {
                Ok(S3Answer::new(StatusCode::NOT_FOUND))
            }
        }
    }
}

#[cfg(test)]
mod tests;
