//! Errors as clients see them: the codes, texts and statuses of Supabase Storage.

pub mod database;
pub mod policy_refusal;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use self::policy_refusal::PolicyRefusal;

/// The codes of errors. They are part of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    AccessDenied,
    BucketAlreadyExists,
    BadUrl,
    DatabaseError,
    DatabaseInvalidObjectDefinition,
    DatabaseReadOnly,
    DatabaseSchemaMismatch,
    DatabaseTimeout,
    EntityTooLarge,
    ExpiredToken,
    FeatureNotEnabled,
    InsufficientStorage,
    InternalError,
    InvalidAccessKeyId,
    InvalidBucketName,
    InvalidChecksum,
    InvalidJWT,
    InvalidKey,
    InvalidMimeType,
    InvalidParameter,
    InvalidRange,
    InvalidRequest,
    InvalidSignature,
    InvalidUploadId,
    InvalidUploadSignature,
    KeyAlreadyExists,
    LockTimeout,
    MalformedXML,
    MissingContentLength,
    MissingParameter,
    MissingPart,
    NoSuchBucket,
    NoSuchKey,
    NoSuchUpload,
    NotImplemented,
    NotSupported,
    PreconditionFailed,
    RequestTimeTooSkewed,
    ResourceAlreadyExists,
    ResourceLocked,
    ResourceNotEmpty,
    ResourceReferenced,
    SignatureDoesNotMatch,
    SlowDown,
    TusError,
}

impl Code {
    /// The code in bodies.
    pub fn name(self) -> String {
        match self {
            Self::BadUrl => "FST_ERR_BAD_URL".to_owned(),
            code => format!("{code:?}"),
        }
    }
}

/// An error as clients see it, and why it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: Code,
    /// The status in bodies, and of responses of TUS and S3.
    pub status: u16,
    /// The status of responses of the REST API: 400 for most.
    pub http_status: u16,
    /// The former name of the error; the code where it has none.
    pub name: Option<&'static str>,
    /// What clients may know.
    pub message: Cow<'static, str>,
    /// The bucket or the object.
    pub resource: Option<String>,
    /// What is logged alone.
    pub cause: Option<String>,
    /// Which policies are missing, for development.
    pub refusal: Option<Arc<PolicyRefusal>>,
    /// Whether what failed may have happened all the same: the connection was lost before the answer.
    pub may_have_happened: bool,
    /// After how many seconds a repetition may succeed.
    pub retry_after: Option<u64>,
}

impl Error {
    /// An error without a former name.
    pub fn new(code: Code, status: u16, message: impl Into<Cow<'static, str>>) -> Self {
        let http_status = match status {
            416 | 429 | 500 | 544 => status,
            _ => 400,
        };
        Self {
            code,
            status,
            http_status,
            name: None,
            message: message.into(),
            resource: None,
            cause: None,
            refusal: None,
            may_have_happened: false,
            retry_after: None,
        }
    }

    pub(crate) fn named(code: Code, status: u16, name: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { name: Some(name), ..Self::new(code, status, message) }
    }

    /// The error with the bucket or object that it is about.
    #[must_use]
    pub fn about(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// The error with what is logged.
    #[must_use]
    pub fn because(mut self, cause: impl std::fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// The error with the status of its body as the status of the response.
    #[must_use]
    pub fn with_own_status(mut self) -> Self {
        self.http_status = self.status;
        self
    }

    /// 404: there is no such bucket, or the caller does not see it.
    pub fn no_such_bucket(bucket: &str) -> Self {
        Self::named(Code::NoSuchBucket, 404, "Bucket not found", "Bucket not found").about(bucket)
    }

    /// 404: there is no such object, or the caller does not see it.
    pub fn no_such_key(name: &str) -> Self {
        Self::named(Code::NoSuchKey, 404, "not_found", "Object not found").about(name)
    }

    /// 404: there is no such upload.
    pub fn no_such_upload(id: &str) -> Self {
        Self::new(Code::NoSuchUpload, 404, "Upload not found").about(id)
    }

    /// 403: there is no such role, or the server may not become it.
    pub fn role_refused() -> Self {
        Self::access_denied("The role of the token cannot be used")
    }

    /// 403: the caller may not do this.
    pub fn access_denied(message: impl Into<Cow<'static, str>>) -> Self {
        Self::named(Code::AccessDenied, 403, "Unauthorized", message)
    }

    /// 400: the request is not valid.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, 400, message)
    }

    /// 400: a part of the request does not have the required shape.
    pub fn validation(message: impl Into<Cow<'static, str>>) -> Self {
        Self::named(Code::InvalidRequest, 400, "Error", message)
    }

    /// 400: a parameter has a value that cannot be used.
    pub fn invalid_parameter(name: &str) -> Self {
        Self::new(Code::InvalidParameter, 400, format!("Invalid Parameter {name}"))
    }

    /// 400: the name of an object has other characters than allowed, or none.
    pub fn invalid_key(name: &str) -> Self {
        Self::new(Code::InvalidKey, 400, format!("Invalid key: {name}")).about(name)
    }

    /// 400: the name of a bucket has other characters than allowed, none, or too many.
    pub fn invalid_bucket_name(name: &str) -> Self {
        Self::named(Code::InvalidBucketName, 400, "Invalid Input", "Bucket name invalid").about(name)
    }

    /// 409: an object with this name exists.
    pub fn key_exists(name: &str) -> Self {
        Self::named(Code::KeyAlreadyExists, 409, "Duplicate", "The resource already exists").about(name)
    }

    /// 409: a bucket with this id or name exists.
    pub fn bucket_exists(bucket: &str) -> Self {
        Self::named(Code::BucketAlreadyExists, 409, "Duplicate", "The resource already exists").about(bucket)
    }

    /// 409: the bucket has objects.
    pub fn bucket_not_empty(bucket: &str) -> Self {
        Self::new(Code::ResourceNotEmpty, 409, "The bucket you tried to delete is not empty").about(bucket)
    }

    /// 413: the content is larger than the bucket or the server allows.
    pub fn too_large() -> Self {
        Self::too_large_part("object")
    }

    /// 413: a part of the request is larger than allowed.
    pub fn too_large_part(part: &'static str) -> Self {
        let message = format!("The {part} exceeded the maximum allowed size");
        Self::named(Code::EntityTooLarge, 413, "Payload too large", message)
    }

    /// 415: the bucket does not allow this type.
    pub fn mime_type(mime_type: &str) -> Self {
        let message = format!("mime type {mime_type} is not supported");
        Self::named(Code::InvalidMimeType, 415, "invalid_mime_type", message)
    }

    /// 415: the header `Content-Type` has no media type.
    pub fn content_type_header() -> Self {
        Self::named(Code::InvalidMimeType, 415, "invalid_mime_type", "Invalid Content-Type header")
    }

    /// 400: the header `X-Robots-Tag` has a value that no search engine knows.
    pub fn robots_tag(reason: &str) -> Self {
        let message = format!("Invalid X-Robots-Tag header: {reason}");
        Self::named(Code::InvalidRequest, 400, "invalid_x_robots_tag", message)
    }

    /// 416: the range is not one of the object.
    pub fn invalid_range() -> Self {
        Self::named(Code::InvalidRange, 416, "invalid_range", "invalid range provided")
    }

    /// 400: the token of a signed URL cannot be verified.
    pub fn invalid_jwt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidJWT, 400, message)
    }

    /// 400: the token of a signed URL is for something else.
    pub fn invalid_signature(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidSignature, 400, message)
    }

    /// 400: the request has no file.
    pub fn no_content(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, 400, message)
    }

    /// 404: something that the row refers to is not there.
    pub fn related_not_found() -> Self {
        Self::new(Code::InvalidRequest, 404, "The related resource does not exist")
    }

    /// 501: an operation of the S3 protocol that is not served.
    pub fn not_implemented(sub_resource: &str) -> Self {
        Self::new(Code::NotImplemented, 501, format!("The sub-resource {sub_resource} is not implemented"))
    }

    /// 423: another request works on the same object.
    pub fn resource_locked() -> Self {
        Self::new(Code::ResourceLocked, 423, "The resource is locked")
    }

    /// 409: a feature is switched off.
    pub fn feature_disabled(feature: &str) -> Self {
        let message = format!("The feature {feature} is not enabled for this resource");
        Self::new(Code::FeatureNotEnabled, 409, message)
    }

    /// 429: there are too many requests at a time.
    pub fn slow_down() -> Self {
        let message = "Too many connections issued to the database";
        Self { retry_after: Some(1), ..Self::named(Code::SlowDown, 429, "too_many_connections", message) }
    }

    /// 429: a limit of number or rate is reached.
    pub fn too_many_requests(message: &'static str, wait: Duration) -> Self {
        let seconds = wait.as_millis().div_ceil(1000).max(1);
        Self { retry_after: u64::try_from(seconds).ok(), ..Self::new(Code::SlowDown, 429, message) }
    }

    /// 429: the caller has too many uploads that are not complete.
    pub fn too_many_open_uploads() -> Self {
        Self::too_many_requests("Too many incomplete uploads: complete or abort some", Duration::from_mins(1))
    }

    /// 507: there is no space left for content (RFC 4918 §11.5).
    pub fn insufficient_storage() -> Self {
        let error = Self::new(Code::InsufficientStorage, 507, "There is no space left").with_own_status();
        error.because("no space left for content")
    }

    /// 507: the files take as much as they may.
    pub fn quota_exhausted() -> Self {
        let error =
            Self::new(Code::InsufficientStorage, 507, "The quota of the storage is exhausted").with_own_status();
        error.because("the quota of stored files is exhausted")
    }

    /// 500: something failed that the client cannot mend.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        Self::new(Code::InternalError, 500, "Internal server error").because(cause)
    }

    /// The former name, or the code.
    pub fn name(&self) -> Cow<'static, str> {
        self.name.map_or_else(|| Cow::Owned(self.code.name()), Cow::Borrowed)
    }

    /// The body of the REST API.
    pub fn body(&self) -> Value {
        let mut body = json!({
            "statusCode": self.status.to_string(),
            "error": self.name(),
            "message": self.message,
            "code": self.code.name(),
        });
        if let Some(refusal) = &self.refusal {
            body["hint"] = refusal.reason().into();
        }
        body
    }

    /// The status of a response of the REST API.
    pub fn rest_status(&self) -> StatusCode {
        StatusCode::from_u16(self.http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Logs an error that the operator can mend. Others are answers like any.
    pub fn log(&self) {
        if self.status >= 500 && self.code != Code::NotImplemented {
            tracing::error!(code = %self.code.name(), cause = self.cause.as_deref(), "a request to the storage API failed");
        }
    }
}
