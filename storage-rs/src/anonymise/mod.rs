//! Anonymised copies of stored files: other names, other metadata of users, and content that says nothing.

mod neutral;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::backend::{Backend, BackendError, Content, ContentHeaders, FileKey};
use crate::database::rows::{json as json_column, text as column};
use crate::database::scope::Scope;
use crate::database::{nullable, sql, text};
use crate::error::Error;
use crate::storage::Storage;
use crate::sweep;

/// The objects that are read at once.
const BATCH: usize = 200;
/// The first bytes of a file, which say how large an image is.
const PREFIX: u64 = 256 * 1024;

/// What becomes of the texts of an object.
pub trait ObjectRules: Sync {
    /// The name instead of this one; equal names have equal ones.
    fn name(&self, name: &str) -> String;

    /// The column `user_metadata` instead of this one.
    fn user_metadata(&self, metadata: &Value, owner: &str) -> Value;

    /// The version of the object with this id once it is replaced: an unguessable UUID. An object with this version is not
    /// replaced again.
    fn version(&self, id: &str) -> String;
}

/// What would be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The name of the database and where it is.
    pub database: String,
    pub objects: u64,
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Anonymised {
    /// Objects with other content.
    pub objects: u64,
    /// Objects that another program wrote meanwhile: they are as they were.
    pub skipped: u64,
    /// Objects that an earlier run replaced.
    pub replaced_before: u64,
    /// Uploads that were not complete: they are deleted.
    pub uploads: u64,
}

/// An object to replace.
struct Row {
    id: String,
    file: FileKey,
    owner: String,
    metadata: Value,
    user_metadata: Option<Value>,
}

fn scope(storage: &Storage) -> Scope {
    Scope::of_upkeep(&storage.config().service_role, "storage.upkeep")
}

/// Tells what a run would replace.
///
/// # Errors
/// The database failed.
pub async fn survey(storage: &Storage) -> Result<Survey, Error> {
    let statement = sql(
        "SELECT current_database() || coalesce(' at ' || host(inet_server_addr()) || ':' || inet_server_port(), ''), \
         (SELECT count(*) FROM storage.objects)::text",
        [],
    );
    let rows = storage.database().run(&scope(storage), statement).await?;
    let row = rows.first().ok_or_else(|| Error::internal("no row"))?;
    let objects = column(row, 1).and_then(|count| count.parse().ok()).unwrap_or_default();
    Ok(Survey { database: column(row, 0).unwrap_or_default(), objects })
}

/// Replaces all objects, and deletes unfinished uploads and files without a row that are older than the call. Nothing else may
/// write meanwhile. When it is interrupted, another run with the same rules continues: what was replaced stays as it is.
/// `report` gets what is done so far, several times.
///
/// # Errors
/// The database or the backend failed. What was replaced before stays so.
pub async fn anonymise(
    storage: &Arc<Storage>,
    rules: &dyn ObjectRules,
    report: &(dyn Fn(&Anonymised) + Sync),
) -> Result<Anonymised, Error> {
    let scope = scope(storage);
    let started = storage.now();
    let mut done = Anonymised::default();
    let mut after = uuid::Uuid::nil().to_string();
    loop {
        let statement = sql(
            "SELECT id::text, bucket_id, name, version, owner_id, metadata::text, user_metadata::text FROM storage.objects \
             WHERE id > $1::uuid ORDER BY id LIMIT $2::bigint",
            [text(after.as_str()), text(BATCH.to_string())],
        );
        let rows = storage.database().run(&scope, statement).await?;
        for row in &rows {
            let row = Row {
                id: column(row, 0).unwrap_or_default(),
                file: FileKey {
                    bucket: column(row, 1).unwrap_or_default(),
                    name: column(row, 2).unwrap_or_default(),
                    version: column(row, 3),
                },
                owner: column(row, 4).unwrap_or_default(),
                metadata: json_column(row, 5).unwrap_or(Value::Null),
                user_metadata: json_column(row, 6),
            };
            let version = rules.version(&row.id);
            let counter = if row.file.version.as_ref() == Some(&version) {
                &mut done.replaced_before
            } else if replace(storage, &scope, rules, &row, version).await? {
                &mut done.objects
            } else {
                &mut done.skipped
            };
            *counter += 1;
            report(&done);
            after = row.id;
        }
        if rows.len() < BATCH {
            break;
        }
    }
    done.uploads = delete_uploads(storage, &scope, started).await?;
    // The file of a request that is not over has no row yet.
    sweep::sweep_older(storage, storage.now() - started).await?;
    Ok(done)
}

/// Replaces an object; `false` if another program wrote it meanwhile.
async fn replace(
    storage: &Arc<Storage>,
    scope: &Scope,
    rules: &dyn ObjectRules,
    row: &Row,
    version: String,
) -> Result<bool, Error> {
    let backend = storage.backend();
    let member = |name: &str| row.metadata.get(name).and_then(Value::as_str).unwrap_or_default();
    let headers = ContentHeaders {
        content_type: member("mimetype").to_owned(),
        cache_control: member("cacheControl").to_owned(),
    };
    let (size, prefix) = read_prefix(backend.as_ref(), &row.file).await?;
    let media_type = headers.content_type.clone();
    let content = tokio::task::spawn_blocking(move || neutral::content(&media_type, size, &prefix));
    let content = content.await.map_err(Error::internal)?;
    let file = FileKey { bucket: row.file.bucket.clone(), name: rules.name(&row.file.name), version: Some(version) };
    let facts = backend.put(&file, &headers, stream::iter([Ok(content.into())]).boxed()).await?;
    let changes = json!({ "eTag": facts.etag, "size": facts.size, "contentLength": facts.size });
    let statement = sql(
        "UPDATE storage.objects SET name = $3, version = $4, metadata = coalesce(metadata, '{}') || $5::jsonb, \
         user_metadata = $6::jsonb WHERE id = $1::uuid AND version IS NOT DISTINCT FROM $2 RETURNING id::text",
        [
            text(row.id.as_str()),
            nullable(row.file.version.as_deref()),
            text(file.name.as_str()),
            nullable(file.version.as_deref()),
            text(changes.to_string()),
            nullable(
                row.user_metadata
                    .as_ref()
                    .map(|user_metadata| rules.user_metadata(user_metadata, &row.owner).to_string()),
            ),
        ],
    );
    let updated = storage.database().run(scope, statement).await?;
    let superfluous = if updated.is_empty() { &file } else { &row.file };
    storage.delete_files(std::slice::from_ref(superfluous)).await;
    Ok(!updated.is_empty())
}

/// The size and the first bytes of a file; nothing of one that does not exist.
async fn read_prefix(backend: &dyn Backend, file: &FileKey) -> Result<(u64, Vec<u8>), Error> {
    let facts = match backend.head(file).await {
        Ok(facts) if facts.size > 0 => facts,
        Ok(_) | Err(BackendError::NotFound) => return Ok((0, Vec::new())),
        Err(error) => return Err(error.into()),
    };
    let (_, mut content): (_, Content) = backend.get(file, Some(0..facts.size.min(PREFIX))).await?;
    let mut prefix = Vec::new();
    while let Some(part) = content.next().await {
        prefix.extend_from_slice(&part?);
    }
    Ok((facts.size, prefix))
}

/// Deletes uploads that are not complete: multipart uploads of the S3 protocol, and resumable ones.
async fn delete_uploads(storage: &Arc<Storage>, scope: &Scope, before: DateTime<Utc>) -> Result<u64, Error> {
    // The files of the parts have no row then, so that the sweep deletes them.
    let statement = sql("DELETE FROM storage.s3_multipart_uploads_parts RETURNING id::text", []);
    storage.database().run(scope, statement).await?;
    let statement = sql("DELETE FROM storage.s3_multipart_uploads RETURNING id::text", []);
    let mut deleted = storage.database().run(scope, statement).await?.len() as u64;
    let staging = storage.backend().staging();
    for id in staging.list_idle(before).await? {
        staging.remove(id).await?;
        deleted += 1;
    }
    Ok(deleted)
}
