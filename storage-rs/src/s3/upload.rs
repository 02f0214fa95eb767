//! Writing objects.

use std::sync::Arc;

use axum::body::Body;
use http::StatusCode;
use serde_json::Value;

use super::answer::S3Answer;
use super::objects::refused_replacement;
use super::request::Request;
use crate::backend::{Content, ContentHeaders};
use crate::error::Error;
use crate::names;
use crate::objects::write::{self, ContentCheck, NewObject};
use crate::request::{Call, complete};
use crate::target::Target;

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
        let header = |name: &str, default: &str| self.call.filled_header(name).unwrap_or(default).to_owned();
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
    let config = storage.config();
    let is_placeholder = names::is_folder_placeholder(&object.target.name);
    let standard = config.standard_file_size_limit.unwrap_or(u64::MAX);
    let (least, greatest) = more_limits.unwrap_or((0, u64::MAX));
    let mut check = ContentCheck {
        mime_type: (!is_placeholder).then(|| headers.content_type.clone()),
        size: length,
        maximum: if is_placeholder { 0 } else { config.file_size_limit.min(standard).min(greatest) },
        robots_tag: None,
    };
    let is_small = length.is_some_and(|length| length <= write::SMALL.min(check.maximum))
        && names::check_object_name(&object.target.name).is_ok();
    let limit = if is_small {
        check.maximum.min(write::SMALL)
    } else {
        let (limits, tested) = write::test(storage, &call.service_scope(), &call.scope(), &object).await?;
        names::check_object_name(&object.target.name)?;
        let limit = check.apply(&limits)?;
        tested?;
        limit
    };
    let _turn = call.wait_for_upload_turn().await?;
    storage.backend().check_room(length.unwrap_or_default()).await?;
    let content = open(call, limit)?;
    let facts = storage.backend().put(&object.file(), &headers, content).await?;
    if facts.size < least {
        storage.delete_files(&[object.file()]).await;
        return Err(Error::access_denied("Policy condition failed: the file is too small"));
    }
    let etag = facts.etag.clone();
    object.metadata = write::metadata(&facts, &headers.content_type, &headers.cache_control, None);
    object.user_metadata = Some(object.user_metadata.unwrap_or_else(|| Value::Object(serde_json::Map::new())));
    let (service, caller) = (call.service_scope(), call.scope());
    let storage = Arc::clone(storage);
    complete(async move {
        if is_small {
            check.size = Some(facts.size);
            write::write_small(storage, service, caller, object, check).await
        } else {
            write::write(storage, service, object).await
        }
    })
    .await?;
    Ok(etag)
}
