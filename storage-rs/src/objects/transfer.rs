//! Moving and copying objects.

use axum::body::Body;
use foundation::time::format_milliseconds;
use http::Response;
use postgrest_rs::sql::Value as SqlValue;
use serde_json::{Map, Value, json};

use super::user_metadata::read_metadata_header;
use super::write::{self, NewObject, new_version};
use crate::backend::{BackendError, ContentHeaders, FileKey};
use crate::database::rows::{json as json_column, text as column};
use crate::database::{End, Step, nullable, sql, text};
use crate::error::Error;
use crate::names::{check_object_name, is_owner_uuid};
use crate::object_row::OBJECT;
use crate::request::fields::Fields;
use crate::request::{Call, complete, json_body};
use crate::target::Target;
use crate::{policies, response};

/// The attempts while other requests write the source.
const ATTEMPTS: usize = 3;

/// Source and destination in a body.
fn read_targets(fields: &Fields) -> Result<(Target, Target), Error> {
    let bucket = fields.text("bucketId")?.unwrap_or_default();
    let source = Target { bucket: bucket.clone(), name: fields.text("sourceKey")?.unwrap_or_default() };
    let destination = fields.text("destinationBucket")?.filter(|bucket| !bucket.is_empty()).unwrap_or(bucket);
    let name = fields.text("destinationKey")?.unwrap_or_default();
    Ok((source, Target { bucket: destination, name }))
}

/// The source of a move or copy.
struct Source {
    version: Option<String>,
    metadata: Map<String, Value>,
    user_metadata: Option<Value>,
}

impl Source {
    const COLUMNS: &'static str = "version, metadata::text, user_metadata::text";

    fn read(row: &tokio_postgres::Row) -> Self {
        let metadata = match json_column(row, 1) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        Self { version: column(row, 0), metadata, user_metadata: json_column(row, 2) }
    }

    fn headers(metadata: &Map<String, Value>) -> ContentHeaders {
        let member = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        ContentHeaders { content_type: member("mimetype"), cache_control: member("cacheControl") }
    }
}

/// Copies a file; `false` when the source is gone.
async fn copy_file(call: &Call, source: &FileKey, target: &FileKey, headers: &ContentHeaders) -> Result<bool, Error> {
    match call.storage.backend().copy(source, target, headers).await {
        Ok(_) => Ok(true),
        Err(BackendError::NotFound) => Ok(false),
        Err(BackendError::Name) => Err(Error::invalid_key(&target.name)),
        Err(error) => Err(error.into()),
    }
}

/// `POST /object/move`
pub(super) async fn rename(mut call: Call, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    fields.require(&["bucketId", "sourceKey", "destinationKey"])?;
    let (source, destination) = read_targets(&fields)?;
    call.authenticate()?;
    check_object_name(&destination.name)?;
    check_source(&source)?;
    complete(async move {
        for _ in 0..ATTEMPTS {
            if try_rename(&call, &source, &destination).await? {
                return Ok(());
            }
        }
        Err(Error::resource_locked().about(&source.name))
    })
    .await?;
    Ok(response::message("Successfully moved"))
}

/// A name that no object has is one of an object that does not exist.
fn check_source(source: &Target) -> Result<(), Error> {
    check_object_name(&source.name).map_err(|_| Error::no_such_key(&source.name))?;
    if source.bucket.contains('\0') { Err(Error::no_such_key(&source.name)) } else { Ok(()) }
}

/// The values of the statement that gives an object another name.
fn rename_values(source: &Target, destination: &Target, owner: Option<&str>, version: &str) -> Vec<SqlValue> {
    vec![
        text(source.bucket.as_str()),
        text(source.name.as_str()),
        text(destination.name.as_str()),
        text(destination.bucket.as_str()),
        text(version),
        nullable(owner.filter(|owner| is_owner_uuid(owner))),
        nullable(owner),
    ]
}

const RENAME: &str = "UPDATE storage.objects SET name = $3, bucket_id = $4, version = $5, \
    owner = coalesce($6::uuid, owner), owner_id = coalesce($7, owner_id)";

/// Moves an object; `false` when another request wrote the source at the same time.
async fn try_rename(call: &Call, source: &Target, destination: &Target) -> Result<bool, Error> {
    let (service, caller) = (call.service_scope(), call.scope());
    let owner = call.caller.owner.as_deref();
    let version = new_version();
    let values = || [text(source.bucket.as_str()), text(source.name.as_str())];
    let visible = sql("SELECT id FROM storage.objects WHERE bucket_id = $1 AND name = $2", values());
    let row =
        sql(&format!("SELECT {} FROM storage.objects WHERE bucket_id = $1 AND name = $2", Source::COLUMNS), values());
    let test = sql(
        &format!("{RENAME} WHERE bucket_id = $1 AND name = $2 RETURNING id"),
        rename_values(source, destination, owner, &version),
    );
    let steps = [
        Step::As(&service),
        Step::Run(write::select_limits(&destination.bucket)),
        Step::Run(write::lock_two_rows(source, destination)),
        Step::Run(row),
        Step::As(&caller),
        Step::Run(visible),
        Step::Run(test),
    ];
    let mut results = call.storage.database().fly(&steps, End::Rollback).await?.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    let limits = next()?;
    next()?;
    let rows = next()?;
    let (visible, renamed) = (next()?, next());
    let found = rows.first().filter(|_| !visible.is_empty()).map(Source::read);
    let found = found.ok_or_else(|| Error::no_such_key(&source.name))?;
    let renamed = match renamed {
        Ok(rows) => rows,
        Err(error) => return Err(policies::explain(&call.storage, &service, &caller, policies::MOVE, error).await),
    };
    if renamed.is_empty() {
        return Err(Error::no_such_key(&source.name));
    }
    if source == destination {
        return Ok(true);
    }
    if source.bucket != destination.bucket {
        let limits = write::read_limits(&limits, &destination.bucket)?;
        check_limits(call, &limits, &found.metadata, destination)?;
    }
    let old = FileKey { bucket: source.bucket.clone(), name: source.name.clone(), version: found.version.clone() };
    let new =
        FileKey { bucket: destination.bucket.clone(), name: destination.name.clone(), version: Some(version.clone()) };
    let headers = Source::headers(&found.metadata);
    if !copy_file(call, &old, &new, &headers).await? {
        return missing_source(call, source, found.version.as_deref()).await;
    }
    let mut metadata = found.metadata;
    metadata.insert("lastModified".to_owned(), format_milliseconds(call.storage.now()).into());
    let mut values = rename_values(source, destination, owner, &version);
    values.extend([text(Value::Object(metadata).to_string()), nullable(found.version)]);
    let write = sql(
        &format!(
            "{RENAME}, metadata = $8::jsonb WHERE bucket_id = $1 AND name = $2 AND version IS NOT DISTINCT FROM $9 RETURNING id"
        ),
        values,
    );
    let locks = [write::lock(destination), write::lock_two_rows(source, destination)].map(Step::Run);
    let steps: Vec<Step<'_>> = [Step::As(&service)].into_iter().chain(locks).chain([Step::Run(write)]).collect();
    let results = call.storage.database().fly(&steps, End::Commit).await;
    let moved = results.and_then(|results| results.into_iter().next_back().unwrap_or_else(|| Ok(Vec::new())));
    let is_moved = moved.as_ref().is_ok_and(|rows| !rows.is_empty());
    // After a lost connection either file may have the row: the sweeper decides.
    if !moved.as_ref().is_err_and(|error| error.may_have_happened) {
        call.storage.delete_files(&[if is_moved { old } else { new }]).await;
    }
    moved.map(|_| is_moved)
}

/// What a missing file means: another request wrote the source, or the row has none.
async fn missing_source(call: &Call, source: &Target, version: Option<&str>) -> Result<bool, Error> {
    let statement = sql(
        "SELECT version FROM storage.objects WHERE bucket_id = $1 AND name = $2",
        [text(source.bucket.as_str()), text(source.name.as_str())],
    );
    let rows = call.storage.database().run(&call.service_scope(), statement).await?;
    match rows.first() {
        Some(row) if column(row, 0).as_deref() == version => Err(BackendError::NotFound.into()),
        Some(_) => Ok(false),
        None => Err(Error::no_such_key(&source.name)),
    }
}

/// What a copy gets.
pub(crate) struct CopyOrder {
    pub(crate) source: Target,
    pub(crate) destination: Target,
    /// Whether it has the metadata of the source.
    pub(crate) copies_metadata: bool,
    /// Whether type and cache time of the source stay, otherwise, where `metadata` has none.
    pub(crate) keeps_unspecified: bool,
    /// Members of the column `metadata`, otherwise.
    pub(crate) metadata: Map<String, Value>,
    /// The column `user_metadata`, otherwise.
    pub(crate) user_metadata: Option<Value>,
    /// Whether an object that exists is replaced.
    pub(crate) replaces: bool,
}

/// `POST /object/copy`
pub(super) async fn copy(mut call: Call, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    fields.require(&["sourceKey", "bucketId", "destinationKey"])?;
    let (source, destination) = read_targets(&fields)?;
    let mut metadata = Map::new();
    if let Some(given) = fields.object("metadata")? {
        for name in ["cacheControl", "mimetype"] {
            if let Some(value) = given.text(name)? {
                metadata.insert(name.to_owned(), value.into());
            }
        }
    }
    let copies_metadata = fields.truth("copyMetadata")?.unwrap_or(true);
    call.authenticate()?;
    let order = CopyOrder {
        user_metadata: read_metadata_header(&call)?,
        replaces: call.is_upsert(),
        source,
        destination,
        copies_metadata,
        keeps_unspecified: true,
        metadata,
    };
    let key = order.destination.path();
    let document = copy_object(call, order).await?;
    let mut answer = json!({ "Id": document["id"], "Key": key });
    if let (Value::Object(answer), Value::Object(document)) = (&mut answer, document) {
        answer.extend(document);
    }
    Ok(response::ok(&answer))
}

/// Copies an object by the right of the caller, and returns it as the API shows it.
///
/// # Errors
/// 404: there is no source, or the caller does not see it. 403: the caller may not write the copy. 409: it exists.
pub(crate) async fn copy_object(call: Call, order: CopyOrder) -> Result<Value, Error> {
    check_object_name(&order.destination.name)?;
    check_source(&order.source)?;
    complete(async move {
        for _ in 0..ATTEMPTS {
            if let Some(document) = try_copy(&call, &order).await? {
                return Ok(document);
            }
        }
        Err(Error::resource_locked().about(&order.source.name))
    })
    .await
}

/// Copies an object; `None` when another request wrote the source at the same time.
async fn try_copy(call: &Call, order: &CopyOrder) -> Result<Option<Value>, Error> {
    let (service, caller) = (call.service_scope(), call.scope());
    let statement = sql(
        &format!("SELECT {} FROM storage.objects WHERE bucket_id = $1 AND name = $2", Source::COLUMNS),
        [text(order.source.bucket.as_str()), text(order.source.name.as_str())],
    );
    let rows = call.storage.database().run(&caller, statement).await?;
    let source = rows.first().map(Source::read).ok_or_else(|| Error::no_such_key(&order.source.name))?;
    let mut metadata = source.metadata;
    if !order.copies_metadata {
        if !order.keeps_unspecified {
            metadata.retain(|member, _| !matches!(member.as_str(), "mimetype" | "cacheControl"));
        }
        metadata.extend(order.metadata.clone());
    }
    let user_metadata = if order.copies_metadata { source.user_metadata } else { order.user_metadata.clone() };
    let mut object = NewObject {
        target: order.destination.clone(),
        version: new_version(),
        owner: call.caller.owner.clone(),
        metadata: Value::Object(metadata.clone()),
        user_metadata,
        replaces: order.replaces,
    };
    let (limits, tested) = test_copy(call, &service, &caller, &object).await?;
    tested?;
    check_limits(call, &limits, &metadata, &order.destination)?;
    let file = FileKey {
        bucket: order.source.bucket.clone(),
        name: order.source.name.clone(),
        version: source.version.clone(),
    };
    if !copy_file(call, &file, &object.file(), &Source::headers(&metadata)).await? {
        return missing_source(call, &order.source, source.version.as_deref()).await.map(|_| None);
    }
    metadata.insert("lastModified".to_owned(), format_milliseconds(call.storage.now()).into());
    object.metadata = Value::Object(metadata);
    let id = write::write(std::sync::Arc::clone(&call.storage), service.clone(), object).await?.id;
    let statement = sql(&format!("SELECT {OBJECT} FROM storage.objects WHERE id = $1::uuid"), [text(id.as_str())]);
    let rows = call.storage.database().run(&service, statement).await?;
    Ok(Some(rows.first().and_then(|row| json_column(row, 0)).unwrap_or_else(|| json!({ "id": id }))))
}

/// Tests a copy. A bucket that is missing shows itself by the foreign key, as in the reference.
async fn test_copy(
    call: &Call,
    service: &crate::database::scope::Scope,
    caller: &crate::database::scope::Scope,
    object: &NewObject,
) -> Result<(write::BucketLimits, Result<(), Error>), Error> {
    match write::test(&call.storage, service, caller, object).await {
        Err(error) if error.code == crate::error::Code::NoSuchBucket => Err(Error::related_not_found()),
        outcome => outcome,
    }
}

/// The limits of the destination apply to copies, and to objects that come from another bucket, too.
fn check_limits(
    call: &Call,
    limits: &write::BucketLimits,
    metadata: &Map<String, Value>,
    destination: &Target,
) -> Result<(), Error> {
    if crate::names::is_folder_placeholder(&destination.name) {
        return Ok(());
    }
    if let Some(mime_type) = metadata.get("mimetype").and_then(Value::as_str) {
        crate::mime::check(mime_type, &limits.mime_types)?;
    }
    let maximum = limits.size.into_iter().fold(call.storage.config().file_size_limit, u64::min);
    match metadata.get("size").and_then(Value::as_u64) {
        Some(size) if size > maximum => Err(Error::too_large()),
        _ => Ok(()),
    }
}
