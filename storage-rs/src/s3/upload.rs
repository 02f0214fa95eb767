//! Writing objects.

use axum::body::Body;
use http::StatusCode;
use serde_json::Value;

use super::Request;
use super::answer::S3Answer;
use super::objects::refused_replacement;
use crate::backend::{Content, ContentHeaders};
use crate::error::Error;
use crate::objects::write::{self, NewObject};
use crate::objects::{Target, complete};
use crate::request::Call;
use crate::{mime, names};

/// The object that stands for an empty folder.
const PLACEHOLDER: &str = ".emptyFolderPlaceholder";

/// What is known of an object before its content is there.
pub(super) struct Announced {
    pub target: Target,
    pub headers: ContentHeaders,
    pub user_metadata: Option<Value>,
    pub length: Option<u64>,
    /// Whether an object of this name is replaced; otherwise it is refused (`If-None-Match: *`).
    pub replaces: bool,
}

impl Request {
    pub(super) async fn put_object(mut self, body: Body) -> Result<S3Answer, Error> {
        let length = self.signed.content_length(&self.call);
        if self.target.name.ends_with('/') && length == Some(0) {
            self.target.name.push_str(PLACEHOLDER);
        }
        let header = |name: &str, default: &str| {
            self.call.header(name).filter(|value| !value.is_empty()).unwrap_or(default).to_owned()
        };
        let announced = Announced {
            target: self.target.clone(),
            headers: ContentHeaders {
                content_type: header("content-type", "application/octet-stream"),
                cache_control: header("cache-control", "no-cache"),
            },
            user_metadata: self.user_metadata(),
            length,
            replaces: self.call.header("if-none-match") != Some("*"),
        };
        let Self { call, signed, .. } = self;
        let replaces = announced.replaces;
        let stored = store(&call, announced, None, |call, limit| signed.content(call, body, limit)).await;
        let etag = stored.map_err(|error| refused_replacement(error, replaces))?;
        Ok(S3Answer::new(StatusCode::OK).with("etag", &etag))
    }
}

/// Tests the right of the caller, stores the content and writes the row. `open` returns the content with at most this many
/// bytes. Returns the `ETag`.
pub(super) async fn store(
    call: &Call,
    announced: Announced,
    more_limits: Option<(u64, u64)>,
    open: impl FnOnce(&Call, u64) -> Result<Content, Error>,
) -> Result<String, Error> {
    let Announced { target, headers, user_metadata, length, replaces } = announced;
    let storage = &call.storage;
    names::check_bucket_name(&target.bucket)?;
    let mut object = NewObject {
        version: write::new_version(),
        owner: call.caller.owner.clone(),
        metadata: write::announced_metadata(Some(&headers.content_type), length),
        user_metadata,
        replaces,
        target,
    };
    let (limits, tested) = write::test(storage, &call.service_scope(), &call.scope(), &object).await?;
    names::check_object_name(&object.target.name)?;
    let config = storage.config();
    let is_placeholder = names::is_folder_placeholder(&object.target.name);
    let limit = [limits.size, config.standard_file_size_limit, Some(config.file_size_limit)];
    let mut limit = limit.into_iter().flatten().min().unwrap_or_default();
    if is_placeholder {
        limit = 0;
    } else {
        mime::check(&headers.content_type, &limits.mime_types)?;
    }
    let (least, greatest) = more_limits.unwrap_or((0, u64::MAX));
    limit = limit.min(greatest);
    if length.is_some_and(|length| length > limit) {
        return Err(Error::too_large());
    }
    tested?;
    let content = open(call, limit)?;
    let facts = storage.backend().put(&object.file(), &headers, content).await?;
    if facts.size < least {
        crate::objects::delete_files(storage, &[object.file()]).await;
        return Err(Error::access_denied("Policy condition failed: the file is too small"));
    }
    object.metadata = write::metadata(&facts, &headers.content_type, &headers.cache_control, None);
    object.user_metadata = Some(object.user_metadata.unwrap_or_else(|| Value::Object(serde_json::Map::new())));
    complete(write::write(std::sync::Arc::clone(storage), call.service_scope(), object)).await?;
    Ok(facts.etag)
}
