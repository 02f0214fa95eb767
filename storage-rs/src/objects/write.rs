//! Writing rows: the test whether the caller may, and the row itself.
//!
//! Large content: the caller's right is tested before the content is stored, by the very statement that would write the row,
//! which is rolled back. The row is written by the server afterwards, under a lock on the name that is the same for all servers.
//!
//! Small content is stored first; one transaction then checks the limits of the bucket and writes the row by the right of the
//! caller. Where triggers of the application see the row, that transaction is only the test: it is rolled back, and the server
//! writes the row, as that of large content.

use std::sync::Arc;

use foundation::time::format_milliseconds;
use postgrest_rs::sql::{Sql, Value as SqlValue};
use serde_json::{Map, Value, json};
use tokio_postgres::Row;

use crate::backend::{FileFacts, FileKey};
use crate::database::rows::{json as json_column, text as column};
use crate::database::scope::Scope;
use crate::database::{End, Results, Step, array, nullable, sql, text};
use crate::error::{Code, Error};
use crate::names::is_owner_uuid;
use crate::storage::Storage;
use crate::target::Target;
use crate::{mime, policies, robots};

/// The beginning of a statement that writes the row of an object.
const INSERT: &str = "INSERT INTO storage.objects (name, bucket_id, version, owner, owner_id, metadata, user_metadata)";
/// The values of these columns.
const ROW: &str = "$1, $2, $3, $4::uuid, $5, $6::jsonb, $7::jsonb";

/// The most bytes of content that is stored before the caller's right is tested.
pub(crate) const SMALL: u64 = 256 * 1024;

/// The columns that take the lock on a name until the transaction ends: `$1` is its number.
const LOCK: &str = "SELECT set_config('lock_timeout', '5000', true), pg_advisory_xact_lock($1::bigint), ";

/// The columns that decide about an object, `$1` and `$2` are its name and bucket: the limits of the bucket, the version that is
/// there, and whether a trigger of the application sees new rows. Such a trigger gets the row from the server, as from the
/// reference: it may do what callers may not.
const DECISIVE: &str = "SELECT (SELECT row_to_json(found)::text FROM (\
        SELECT file_size_limit AS size, allowed_mime_types AS types FROM storage.buckets WHERE id = $2) AS found), \
    (SELECT json_build_array(version)::text FROM storage.objects WHERE name = $1 AND bucket_id = $2), \
    (EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = 'storage.objects'::regclass AND NOT tgisinternal \
        AND tgenabled <> 'D' AND (tgtype & 20) <> 0 AND tgname <> 'update_objects_updated_at'))::text, ";

/// The column with the limits of the bucket `$1`.
const LIMITS: &str = "SELECT (SELECT row_to_json(found)::text FROM (\
        SELECT file_size_limit AS size, allowed_mime_types AS types FROM storage.buckets WHERE id = $1) AS found), ";

/// What an object that exists gets.
const REPLACE: &str = "DO UPDATE SET version = excluded.version, metadata = excluded.metadata, \
    user_metadata = coalesce(excluded.user_metadata, objects.user_metadata), owner = coalesce(excluded.owner, objects.owner), \
    owner_id = coalesce(excluded.owner_id, objects.owner_id)";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BucketLimits {
    /// The largest object, in bytes.
    pub(crate) size: Option<u64>,
    /// The types of objects; all when it is empty.
    pub(crate) mime_types: Vec<String>,
}

impl BucketLimits {
    /// The limits in the row of a bucket as JSON; `None` if there is no row.
    fn of_document(found: &Value) -> Option<Self> {
        let types = found.as_object()?.get("types").and_then(Value::as_array);
        let types = types.map(|types| types.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Some(Self { size: found["size"].as_u64(), mime_types: types.unwrap_or_default() })
    }
}

/// An object that is to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewObject {
    /// Its bucket and name.
    pub(crate) target: Target,
    /// The version, which names the file.
    pub(crate) version: String,
    /// The claim `sub` of the caller.
    pub(crate) owner: Option<String>,
    /// The column `metadata`.
    pub(crate) metadata: Value,
    /// The column `user_metadata`.
    pub(crate) user_metadata: Option<Value>,
    /// Whether one that exists is replaced.
    pub(crate) replaces: bool,
}

/// What is checked against the limits of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct ContentCheck {
    /// The media type; `None` where any counts.
    pub(crate) mime_type: Option<String>,
    /// The size in bytes, where it is known.
    pub(crate) size: Option<u64>,
    /// The largest object of the server, in bytes.
    pub(crate) maximum: u64,
    /// The header `X-Robots-Tag`.
    pub(crate) robots_tag: Option<String>,
}

impl ContentCheck {
    /// Checks the content, and returns the largest size in bytes.
    ///
    /// # Errors
    /// 400: the robots tag is malformed. 415: the bucket does not take the type. 413: the content is too large.
    pub(crate) fn apply(&self, limits: &BucketLimits) -> Result<u64, Error> {
        if let Some(tag) = &self.robots_tag {
            robots::check(tag)?;
        }
        if let Some(mime_type) = &self.mime_type {
            mime::check(mime_type, &limits.mime_types)?;
        }
        let limit = limits.size.map_or(self.maximum, |size| size.min(self.maximum));
        if self.size.is_some_and(|size| size > limit) { Err(Error::too_large()) } else { Ok(limit) }
    }
}

/// A row that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The id of the object.
    pub(crate) id: String,
    /// The file of the version before, which no row names any more.
    pub(crate) replaced: Option<FileKey>,
}

pub(crate) fn new_version() -> String {
    #[expect(clippy::disallowed_methods, reason = "versions only have to differ")]
    uuid::Uuid::new_v4().to_string()
}

/// The column `metadata` of an object.
pub(crate) fn metadata(facts: &FileFacts, mime_type: &str, cache_control: &str, robots_tag: Option<&str>) -> Value {
    let mut metadata = json!({
        "eTag": facts.etag,
        "size": facts.size,
        "mimetype": mime_type,
        "cacheControl": cache_control,
        "lastModified": format_milliseconds(facts.last_modified),
        "contentLength": facts.size,
        "httpStatusCode": 200,
    });
    if let Some(tag) = robots_tag {
        metadata["xRobotsTag"] = tag.into();
    }
    metadata
}

/// The column `metadata` during the test: what is known before the content is there.
pub(crate) fn announced_metadata(mime_type: Option<&str>, content_length: Option<u64>) -> Value {
    let mut metadata = Map::new();
    if let Some(mime_type) = mime_type {
        metadata.insert("mimetype".to_owned(), mime_type.into());
    }
    if let Some(length) = content_length {
        metadata.insert("contentLength".to_owned(), length.into());
    }
    Value::Object(metadata)
}

impl NewObject {
    fn values(&self) -> [SqlValue; 7] {
        [
            text(self.target.name.as_str()),
            text(self.target.bucket.as_str()),
            text(self.version.as_str()),
            nullable(self.owner.as_deref().filter(|owner| is_owner_uuid(owner))),
            nullable(self.owner.as_deref()),
            text(self.metadata.to_string()),
            nullable(self.user_metadata.as_ref().map(Value::to_string)),
        ]
    }

    /// The statement that tests whether the caller may write. Replacing needs the right to see the row too, also when there is
    /// none.
    pub(crate) fn test(&self) -> Sql {
        let insert = format!("{INSERT} VALUES ({ROW})");
        let statement = if self.replaces {
            format!("{insert} ON CONFLICT (name, bucket_id) {REPLACE} RETURNING id")
        } else {
            insert
        };
        sql(&statement, self.values())
    }

    /// The statement that writes the row; it returns the id, the version before, and whether there was a row. The version before
    /// is read in the state of before the statement: the lock on the name keeps other writers away. A row of this very version
    /// stays as it is, and no trigger sees it again: another server may have completed the same resumable upload, or the answer of
    /// an earlier commit was lost.
    pub(crate) fn write(&self) -> Sql {
        let conflict = if self.replaces { REPLACE } else { "DO NOTHING" };
        let statement = format!(
            "WITH former AS (SELECT id, version FROM storage.objects WHERE name = $1 AND bucket_id = $2), \
             written AS ({INSERT} SELECT {ROW} WHERE NOT EXISTS (SELECT FROM former WHERE version = $3) \
                ON CONFLICT (name, bucket_id) {conflict} RETURNING id) \
             SELECT written.id::text, former.version, (EXISTS (SELECT FROM former))::text \
             FROM written LEFT JOIN former ON true \
             UNION ALL SELECT id::text, version, 'true' FROM former WHERE version = $3"
        );
        sql(&statement, self.values())
    }

    /// What the statement of [`NewObject::write`] did.
    ///
    /// # Errors
    /// 409: another request created the object, which is not to be replaced. Those of the statement.
    pub(crate) fn read_written(&self, rows: Result<Vec<Row>, Error>) -> Result<Written, Error> {
        let rows = rows.map_err(|error| test_error(error, &self.target))?;
        let row = rows.first().ok_or_else(|| Error::key_exists(&self.target.name))?;
        let former = column(row, 2).is_some_and(|exists| exists == "true").then(|| column(row, 1));
        let replaced = former
            .filter(|version| version.as_deref() != Some(self.version.as_str()))
            .map(|version| FileKey { version, ..self.file() });
        Ok(Written { id: column(row, 0).unwrap_or_default(), replaced })
    }

    /// The statement by which the caller writes the row. A new one has the id that is returned here: reading it needs a right
    /// that creating does not.
    fn write_as_caller(&self) -> (Sql, String) {
        // The id of an object is random, as its version is.
        let id = new_version();
        let insert = "INSERT INTO storage.objects (name, bucket_id, version, owner, owner_id, metadata, user_metadata, id) \
            VALUES ($1, $2, $3, $4::uuid, $5, $6::jsonb, $7::jsonb, $8::uuid)";
        let statement = if self.replaces {
            format!("{insert} ON CONFLICT (name, bucket_id) {REPLACE} RETURNING id::text")
        } else {
            insert.to_owned()
        };
        let values = self.values().into_iter().chain([text(id.as_str())]);
        (sql(&statement, values), id)
    }

    /// The file of this version.
    pub(crate) fn file(&self) -> FileKey {
        FileKey {
            bucket: self.target.bucket.clone(),
            name: self.target.name.clone(),
            version: Some(self.version.clone()),
        }
    }
}

/// The statement that takes the lock on a name until the transaction ends.
pub(crate) fn lock(target: &Target) -> Sql {
    sql(LOCK.trim_end_matches(", "), [text(lock_number(&target.path()).to_string())])
}

/// The statement that locks rows of a bucket in the order of their names, so that transactions with several rows wait for one
/// another instead of ending in a deadlock.
pub(crate) fn lock_rows<'a>(bucket: &str, names: impl IntoIterator<Item = &'a str>) -> Sql {
    sql(
        "SELECT id FROM storage.objects WHERE bucket_id = $1 AND name = ANY($2::text[]) \
         ORDER BY name COLLATE \"C\" FOR UPDATE",
        [text(bucket), array(names)],
    )
}

/// The statement that locks the rows of two objects. The order of rows of one bucket is that of [`lock_rows`].
pub(crate) fn lock_two_rows(one: &Target, other: &Target) -> Sql {
    sql(
        "SELECT id FROM storage.objects WHERE (bucket_id = $1 AND name = $2) OR (bucket_id = $3 AND name = $4) \
         ORDER BY bucket_id COLLATE \"C\", name COLLATE \"C\" FOR UPDATE",
        [one, other].into_iter().flat_map(|target| [text(target.bucket.as_str()), text(target.name.as_str())]),
    )
}

/// The number of the lock on a name: that of the reference, so that its servers and this one exclude one another.
fn lock_number(path: &str) -> u32 {
    let hash = path.encode_utf16().fold(5381_i32, |hash, unit| {
        #[expect(clippy::cast_possible_truncation, reason = "JavaScript keeps the lower 32 bits")]
        let product = (i64::from(hash) * 33) as i32;
        product ^ i32::from(unit)
    });
    hash.cast_unsigned()
}

/// The statement that reads the limits of a bucket.
pub(crate) fn select_limits(bucket: &str) -> Sql {
    sql(
        "SELECT file_size_limit::text, array_to_json(allowed_mime_types)::text FROM storage.buckets WHERE id = $1",
        [text(bucket)],
    )
}

/// The limits of a bucket.
///
/// # Errors
/// 404: there is no such bucket.
pub(crate) fn read_limits(rows: &[Row], bucket: &str) -> Result<BucketLimits, Error> {
    let row = rows.first().ok_or_else(|| Error::no_such_bucket(bucket))?;
    let size = column(row, 0).and_then(|size| size.parse().ok());
    let types = column(row, 1).and_then(|types| serde_json::from_str::<Vec<Option<String>>>(&types).ok());
    Ok(BucketLimits { size, mime_types: types.unwrap_or_default().into_iter().flatten().collect() })
}

/// What decided about an object in the transaction that writes it.
struct Decisive {
    limits: Option<BucketLimits>,
    replaced: Option<FileKey>,
    has_triggers: bool,
}

impl Decisive {
    fn read(row: &Row, object: &NewObject) -> Self {
        let document = |place: usize| json_column(row, place);
        let limits = document(0).and_then(|found| BucketLimits::of_document(&found));
        let version = |found: Value| found[0].as_str().map(str::to_owned);
        let replaced = document(1).map(|found| FileKey { version: version(found), ..object.file() });
        Self { limits, replaced, has_triggers: column(row, 2).as_deref() == Some("true") }
    }
}

/// Whether the row of an object has this version.
///
/// # Errors
/// Those of the database.
pub(crate) async fn has_version(
    storage: &Storage,
    service: &Scope,
    target: &Target,
    version: &str,
) -> Result<bool, Error> {
    let statement = sql(
        "SELECT id::text FROM storage.objects WHERE name = $1 AND bucket_id = $2 AND version = $3",
        [text(target.name.as_str()), text(target.bucket.as_str()), text(version)],
    );
    Ok(!storage.database().run(service, statement).await?.is_empty())
}

/// The errors of a test: an object that exists is one of the name.
pub(crate) fn test_error(error: Error, target: &Target) -> Error {
    match error.code {
        Code::ResourceAlreadyExists => Error { cause: error.cause, ..Error::key_exists(&target.name) },
        _ => error,
    }
}

/// Tests whether a caller may write an object, and reads the limits of its bucket.
///
/// # Errors
/// 404: there is no such bucket. 403: the caller may not. 409: the object exists and is not to be replaced.
pub(crate) async fn test(
    storage: &Storage,
    service: &Scope,
    caller: &Scope,
    object: &NewObject,
) -> Result<(BucketLimits, Result<(), Error>), Error> {
    let bucket = object.target.bucket.as_str();
    let steps = [Step::As(service), Step::ReadThenAs(LIMITS, vec![text(bucket)], caller), Step::Run(object.test())];
    let mut results = storage.database().fly(&steps, End::Rollback).await?.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    let limits = next()?.first().and_then(|row| BucketLimits::of_document(&json_column(row, 0)?));
    let limits = limits.ok_or_else(|| Error::no_such_bucket(bucket))?;
    let tested = match next() {
        Ok(_) => Ok(()),
        Err(error) => {
            let (error, needed) = (test_error(error, &object.target), policies::of_upload(object.replaces));
            Err(policies::explain(storage, service, caller, needed, error).await)
        }
    };
    Ok((limits, tested))
}

/// Writes the row of a small file that is there, by the right of the caller. Triggers of the application see the statement of
/// the caller, which is rolled back, and that of the server, as in the reference: what they do stays once. On failure the file is
/// deleted; on success the one that it replaces.
///
/// # Errors
/// 404: there is no such bucket. 403: the caller may not. 409: the object exists and is not to be replaced. Those of the check.
pub(crate) async fn write_small(
    storage: Arc<Storage>,
    service: Scope,
    caller: Scope,
    object: NewObject,
    check: ContentCheck,
) -> Result<Written, Error> {
    let outcome = match write_row_as_caller(&storage, &service, &caller, &object, &check).await {
        Ok(Some(written)) => Ok(written),
        Ok(None) => write_row(&storage, &service, &object).await,
        Err(error) => Err(error),
    };
    delete_superfluous(&storage, &object, outcome.as_ref()).await;
    match outcome {
        Err(error) if error.code == Code::AccessDenied => {
            Err(policies::explain(&storage, &service, &caller, policies::of_upload(object.replaces), error).await)
        }
        outcome => outcome,
    }
}

/// Writes a row as the caller; `None`, and nothing is done, if the server has to write it because of triggers.
async fn write_row_as_caller(
    storage: &Storage,
    service: &Scope,
    caller: &Scope,
    object: &NewObject,
    check: &ContentCheck,
) -> Result<Option<Written>, Error> {
    let lock = vec![text(lock_number(&object.target.path()).to_string())];
    let names = vec![text(object.target.name.as_str()), text(object.target.bucket.as_str())];
    let (write, new_id) = object.write_as_caller();
    let steps = [Step::ReadThenAs(LOCK, lock, service), Step::ReadThenAs(DECISIVE, names, caller), Step::Run(write)];
    let decide = |results: Results| {
        let outcome = judge(results, object, check, new_id);
        (if matches!(outcome, Ok(Some(_))) { End::Commit } else { End::Rollback }, outcome)
    };
    storage.database().fly_and_decide(&steps, decide).await?
}

/// Decides about a transaction that wrote a row as the caller.
fn judge(results: Results, object: &NewObject, check: &ContentCheck, new_id: String) -> Result<Option<Written>, Error> {
    let mut results = results.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    next()?;
    let rows = next()?;
    let decisive =
        rows.first().map(|row| Decisive::read(row, object)).ok_or_else(|| Error::internal("no decisive row"))?;
    let limits = decisive.limits.ok_or_else(|| Error::no_such_bucket(&object.target.bucket))?;
    check.apply(&limits)?;
    let written = next().map_err(|error| test_error(error, &object.target))?;
    if decisive.has_triggers {
        return Ok(None);
    }
    let id = written.first().and_then(|row| column(row, 0)).unwrap_or(new_id);
    Ok(Some(Written { id, replaced: decisive.replaced }))
}

/// Writes the row of a file that is there. On failure the file is deleted; on success the one that it replaces.
///
/// # Errors
/// 409: another request created the object, which is not to be replaced. 404: the bucket is gone.
pub(crate) async fn write(storage: Arc<Storage>, service: Scope, object: NewObject) -> Result<Written, Error> {
    let outcome = write_row(&storage, &service, &object).await;
    delete_superfluous(&storage, &object, outcome.as_ref()).await;
    outcome
}

/// Deletes the file that has no row: that of an object that was not written, or the one that it replaced.
async fn delete_superfluous(storage: &Arc<Storage>, object: &NewObject, outcome: Result<&Written, &Error>) {
    match outcome {
        Ok(written) => {
            if let Some(replaced) = &written.replaced {
                storage.delete_files(std::slice::from_ref(replaced)).await;
            }
        }
        // After a lost connection the row may be there: the sweeper decides.
        Err(error) if error.may_have_happened => {}
        Err(_) => storage.delete_files(&[object.file()]).await,
    }
}

pub(crate) async fn write_row(storage: &Storage, service: &Scope, object: &NewObject) -> Result<Written, Error> {
    let lock = vec![text(lock_number(&object.target.path()).to_string())];
    let steps = [Step::ReadThenAs(LOCK, lock, service), Step::Run(object.write())];
    let mut results = storage.database().fly(&steps, End::Commit).await?.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    next()?;
    object.read_written(next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_numbers_are_those_of_the_reference() {
        // Computed by the arithmetic of JavaScript: ((hash * 33) ^ unit) >>> 0, from 5381 on.
        assert_eq!(lock_number(""), 5381);
        assert_eq!(lock_number("a"), 177_604);
        assert_eq!(lock_number("ab"), 5_860_902);
    }
}
