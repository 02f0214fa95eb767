//! Uploads of one request: raw content, or a form.

use axum::body::Body;
use futures::StreamExt;
use http::Response;
use serde_json::{Value, json};

use super::content::{LimitedContent, body_content};
use super::form::{Form, FormFields, FormFile};
use super::user_metadata::{check_metadata, read_metadata_header, user_metadata_column};
use super::write::{self, ContentCheck, NewObject, announced_metadata, new_version};
use crate::backend::{BackendError, Content, ContentHeaders, FileFacts};
use crate::caller::signed_url::{self, Scope as TokenScope};
use crate::error::Error;
use crate::request::{Call, complete, json_body};
use crate::target::Target;
use crate::{names, response};

/// What is written, and by whose right.
struct Upload {
    target: Target,
    owner: Option<String>,
    replaces: bool,
    /// Whether the token of a signed URL allows it, so that policies do not matter.
    is_signed: bool,
}

/// What a request says about its content.
struct Announcement {
    mime_type: String,
    cache_control: String,
    user_metadata: Option<Value>,
    /// The length of the content, where it is known.
    length: Option<u64>,
}

/// `POST` and `PUT /object/:bucket/*`
pub(super) async fn upload(
    mut call: Call,
    target: Target,
    replaces: bool,
    body: Body,
) -> Result<Response<Body>, Error> {
    check_content_type(&call)?;
    call.authenticate()?;
    names::check_bucket_name(&target.bucket)?;
    let replaces = replaces || call.is_upsert();
    let upload = Upload { target, owner: call.caller.owner.clone(), replaces, is_signed: false };
    let key = upload.target.path();
    let id = store(call, upload, body).await?;
    Ok(response::ok(&json!({ "Id": id, "Key": key })))
}

/// `PUT /object/upload/sign/:bucket/*`
pub(super) async fn upload_signed(call: Call, target: Target, body: Body) -> Result<Response<Body>, Error> {
    check_content_type(&call)?;
    let token = call.url_token()?;
    let now = call.storage.now().timestamp();
    let claims = signed_url::verify(&call.storage.keys(), &token, TokenScope::Upload, &target.path(), now)?;
    let upload = Upload {
        target,
        owner: claims.get("owner").and_then(Value::as_str).map(str::to_owned),
        replaces: claims.get("upsert").and_then(Value::as_bool).unwrap_or_default(),
        is_signed: true,
    };
    let key = upload.target.path();
    store(call, upload, body).await?;
    Ok(response::ok(&json!({ "Key": key })))
}

/// Refuses a header `Content-Type` that has no media type.
fn check_content_type(call: &Call) -> Result<(), Error> {
    let Some(value) = call.parts.headers.get(http::header::CONTENT_TYPE) else { return Ok(()) };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    if json_body::is_media_type(essence.trim()) { Ok(()) } else { Err(Error::content_type_header()) }
}

async fn store(call: Call, upload: Upload, body: Body) -> Result<String, Error> {
    let _turn = call.wait_for_upload_turn().await?;
    let content_type = call.header("content-type").unwrap_or_default();
    if content_type.starts_with("multipart/form-data") {
        let form = Form::new(content_type, body)?;
        return store_form(call, upload, form).await;
    }
    let announcement = Announcement {
        mime_type: if content_type.is_empty() {
            "application/octet-stream".to_owned()
        } else {
            content_type.to_owned()
        },
        cache_control: call.filled_header("cache-control").unwrap_or("no-cache").to_owned(),
        user_metadata: read_metadata_header(&call)?,
        length: call.content_length(),
    };
    if let Some(length) = announcement.length.filter(|_| is_small(&call, &upload)) {
        let object = new_object(&upload, new_version());
        let facts = put(&call, &object, &announcement, body_content(body, length)).await?;
        return finish_small(call, upload, object, announcement, facts).await;
    }
    let limit = begin(&call, &upload, &announcement).await?;
    if announcement.length.is_some_and(|length| length > limit) {
        return Err(Error::too_large());
    }
    call.storage.backend().check_room(announcement.length.unwrap_or_default()).await?;
    let object = new_object(&upload, new_version());
    let facts = put(&call, &object, &announcement, body_content(body, limit)).await?;
    finish(call, object, announcement, &facts).await
}

/// Whether the content is so small that it is stored before the right of the caller is tested.
///
/// That of visitors without an account is not: everybody has their key, and a refused upload costs a write.
fn is_small(call: &Call, upload: &Upload) -> bool {
    let maximum = server_limit(call).min(write::SMALL);
    let is_known = upload.is_signed || upload.owner.is_some() || call.caller.role == call.storage.config().service_role;
    is_known
        && call.content_length().is_some_and(|length| length <= maximum)
        && names::check_object_name(&upload.target.name).is_ok()
        && names::check_bucket_name(&upload.target.bucket).is_ok()
}

async fn store_form(call: Call, upload: Upload, mut form: Form) -> Result<String, Error> {
    let Some(file) = form.find_file().await? else { return Err(Error::no_content("No content provided")) };
    let announce = |file_type: &str, fields: &FormFields| {
        Ok::<_, Error>(Announcement {
            mime_type: fields.content_type.clone().unwrap_or_else(|| file_type.to_owned()),
            cache_control: fields.cache_control(),
            user_metadata: check_metadata(fields.user_metadata(), "metadata")?,
            length: call.content_length(),
        })
    };
    let file_type = file.mime_type.clone();
    let announcement = announce(&file_type, form.fields())?;
    if is_small(&call, &upload) {
        let object = new_object(&upload, new_version());
        let facts = put(&call, &object, &announcement, file_content(file, write::SMALL)).await?;
        let stored = StoredFile { call: &call, object: &object, is_kept: false };
        let announcement = announce(&file_type, &form.finish().await?)?;
        stored.keep();
        return finish_small(call, upload, object, announcement, facts).await;
    }
    let limit = begin(&call, &upload, &announcement).await?;
    let object = new_object(&upload, new_version());
    let facts = put(&call, &object, &announcement, file_content(file, limit)).await?;
    let stored = StoredFile { call: &call, object: &object, is_kept: false };
    let fields = form.finish().await?;
    let complete_announcement = announce(&file_type, &fields)?;
    if complete_announcement.mime_type != announcement.mime_type
        || complete_announcement.user_metadata != announcement.user_metadata
    {
        // Policies decide about what the row will have: fields behind the file count as those before it.
        begin(&call, &upload, &complete_announcement).await?;
    }
    stored.keep();
    finish(call, object, complete_announcement, &facts).await
}

/// A file without a row yet. It is deleted when the upload does not go on.
struct StoredFile<'a> {
    call: &'a Call,
    object: &'a NewObject,
    is_kept: bool,
}

impl StoredFile<'_> {
    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for StoredFile<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            let (storage, file) = (std::sync::Arc::clone(&self.call.storage), self.object.file());
            tokio::spawn(async move { storage.delete_files(&[file]).await });
        }
    }
}

fn file_content(file: FormFile, limit: u64) -> Content {
    LimitedContent::new(file, limit).boxed()
}

/// Checks everything that can be checked before the content arrives, in the order of the reference. Returns the largest size
/// in bytes.
async fn begin(call: &Call, upload: &Upload, announcement: &Announcement) -> Result<u64, Error> {
    let name_check = names::check_object_name(&upload.target.name);
    let service = call.service_scope();
    let caller = if upload.is_signed { service.clone() } else { call.scope() };
    let (limits, tested) = if name_check.is_ok() {
        let mut object = new_object(upload, "1".to_owned());
        object.metadata = announced_metadata(Some(&announcement.mime_type), announcement.length);
        object.user_metadata.clone_from(&announcement.user_metadata);
        write::test(&call.storage, &service, &caller, &object).await?
    } else {
        let statement = write::select_limits(&upload.target.bucket);
        let rows = call.storage.database().run(&service, statement).await?;
        (write::read_limits(&rows, &upload.target.bucket)?, Ok(()))
    };
    let is_form = call.header("content-type").is_some_and(|kind| kind.starts_with("multipart/form-data"));
    let size = announcement.length.filter(|_| !is_form);
    let limit = content_check(call, upload, announcement, size).apply(&limits)?;
    name_check?;
    tested?;
    Ok(limit)
}

/// What is checked against the limits of the bucket.
fn content_check(call: &Call, upload: &Upload, announcement: &Announcement, size: Option<u64>) -> ContentCheck {
    let is_placeholder = names::is_folder_placeholder(&upload.target.name);
    ContentCheck {
        mime_type: (!is_placeholder).then(|| announcement.mime_type.clone()),
        size,
        maximum: if is_placeholder { 0 } else { server_limit(call) },
        robots_tag: call.filled_header("x-robots-tag").map(str::to_owned),
    }
}

/// The largest object that the server takes in one request, in bytes.
fn server_limit(call: &Call) -> u64 {
    let config = call.storage.config();
    config.standard_file_size_limit.map_or(config.file_size_limit, |limit| limit.min(config.file_size_limit))
}

fn new_object(upload: &Upload, version: String) -> NewObject {
    NewObject {
        target: upload.target.clone(),
        version,
        owner: upload.owner.clone(),
        metadata: Value::Null,
        user_metadata: None,
        replaces: upload.replaces,
    }
}

async fn put(
    call: &Call,
    object: &NewObject,
    announcement: &Announcement,
    content: Content,
) -> Result<FileFacts, Error> {
    let headers = ContentHeaders {
        content_type: announcement.mime_type.clone(),
        cache_control: announcement.cache_control.clone(),
    };
    let stored = call.storage.backend().put(&object.file(), &headers, content).await;
    stored.map_err(|error| match error {
        BackendError::Name => Error::invalid_key(&object.target.name),
        error => error.into(),
    })
}

/// Writes the row of a small object by the right of the caller, also when the client is gone by now. Returns the id.
async fn finish_small(
    call: Call,
    upload: Upload,
    mut object: NewObject,
    announcement: Announcement,
    facts: FileFacts,
) -> Result<String, Error> {
    let service = call.service_scope();
    let caller = if upload.is_signed { service.clone() } else { call.scope() };
    let check = content_check(&call, &upload, &announcement, Some(facts.size));
    complete_columns(&call, &mut object, &announcement, &facts);
    complete(write::write_small(call.storage, service, caller, object, check)).await.map(|written| written.id)
}

/// Sets what is known when the content is there.
fn complete_columns(call: &Call, object: &mut NewObject, announcement: &Announcement, facts: &FileFacts) {
    let robots_tag = call.filled_header("x-robots-tag");
    object.metadata = write::metadata(facts, &announcement.mime_type, &announcement.cache_control, robots_tag);
    object.user_metadata = Some(user_metadata_column(announcement.user_metadata.clone()));
}

/// Writes the row, also when the client is gone by now. Returns the id.
async fn finish(
    call: Call,
    mut object: NewObject,
    announcement: Announcement,
    facts: &FileFacts,
) -> Result<String, Error> {
    complete_columns(&call, &mut object, &announcement, facts);
    let service = call.service_scope();
    complete(write::write(call.storage, service, object)).await.map(|written| written.id)
}
