//! Comparing rows and files: what interrupted work left behind is deleted, and what does not fit is reported.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures::{StreamExt, TryStreamExt, stream};

use crate::backend::{BackendError, FileKey, ListedFile, Space};
use crate::database::rows::text as column;
use crate::database::scope::Scope;
use crate::database::{array, sql, text};
use crate::error::Error;
use crate::storage::Storage;

/// How long a file may be without a row: longer than any request takes between the two.
const GRACE: TimeDelta = TimeDelta::hours(24);
/// How long an upload of several parts may get no part.
const ABANDONED: TimeDelta = TimeDelta::days(7);
/// How often files without rows are deleted.
const INTERVAL: Duration = Duration::from_hours(1);
/// How often connections that are not used are closed.
const PRUNE_INTERVAL: Duration = Duration::from_secs(30);
/// The files or rows that are compared at once.
const BATCH: usize = 5000;
/// The files that are looked at concurrently.
const CONCURRENCY: usize = 16;
/// The most names in a report.
const MAXIMUM_NAMES: usize = 1000;

/// What a comparison found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The rows of objects.
    pub rows: u64,
    /// Files without a row.
    pub orphans: u64,
    /// Their size in bytes.
    pub orphan_bytes: u64,
    /// Rows without a file.
    pub missing: u64,
    /// The first of these: bucket and name.
    pub missing_names: Vec<String>,
    /// The space of the backend.
    pub space: Option<Space>,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Files without a row.
    pub files: u64,
    /// Interrupted writes.
    pub leftovers: u64,
    /// Resumable uploads and uploads of several parts that no client continues.
    pub uploads: u64,
}

fn scope(storage: &Storage) -> Scope {
    Scope::of_upkeep(&storage.config().service_role, "storage.upkeep")
}

/// The files of a batch that no row names.
async fn find_orphans(storage: &Storage, files: Vec<ListedFile>) -> Result<Vec<ListedFile>, Error> {
    let versions = || array(files.iter().filter_map(|file| file.version.as_deref()));
    let statement = sql(
        "SELECT bucket_id, name, version FROM storage.objects WHERE version = ANY($1::text[]) \
         UNION ALL SELECT bucket_id, key, id::text FROM storage.s3_multipart_uploads_parts WHERE id::text = ANY($1::text[])",
        [versions()],
    );
    let rows = storage.database().run(&scope(storage), statement).await?;
    let known: HashSet<String> = rows
        .iter()
        .map(|row| FileKey {
            bucket: column(row, 0).unwrap_or_default(),
            name: column(row, 1).unwrap_or_default(),
            version: column(row, 2),
        })
        .map(|key| storage.backend().identify(&key))
        .collect();
    // A file without a version belongs to a row of an old server.
    Ok(files.into_iter().filter(|file| file.version.is_some() && !known.contains(&file.identity)).collect())
}

/// Compares all rows and files.
///
/// # Errors
/// The database or the backend failed.
pub async fn compare(storage: &Storage) -> Result<Report, Error> {
    let mut report = Report { space: storage.backend().space().await?, ..Report::default() };
    let mut batches = storage.backend().list().try_chunks(BATCH);
    while let Some(batch) = batches.next().await {
        let files = batch.map_err(|error| Error::from(error.1))?;
        report.files += files.len() as u64;
        report.bytes += files.iter().map(|file| file.size).sum::<u64>();
        let orphans = find_orphans(storage, files).await?;
        report.orphans += orphans.len() as u64;
        report.orphan_bytes += orphans.iter().map(|file| file.size).sum::<u64>();
    }
    compare_rows(storage, &mut report).await?;
    Ok(report)
}

async fn compare_rows(storage: &Storage, report: &mut Report) -> Result<(), Error> {
    let mut after = uuid::Uuid::nil().to_string();
    loop {
        let statement = sql(
            "SELECT id::text, bucket_id, name, version FROM storage.objects WHERE id > $1::uuid ORDER BY id LIMIT $2::bigint",
            [text(after.as_str()), text(BATCH.to_string())],
        );
        let rows = storage.database().run(&scope(storage), statement).await?;
        report.rows += rows.len() as u64;
        let keys: Vec<FileKey> = rows
            .iter()
            .map(|row| FileKey {
                bucket: column(row, 1).unwrap_or_default(),
                name: column(row, 2).unwrap_or_default(),
                version: column(row, 3),
            })
            .collect();
        let missing: Vec<String> = stream::iter(keys)
            .map(|key| async move {
                match storage.backend().head(&key).await {
                    Ok(_) => Ok(None),
                    Err(BackendError::NotFound) => Ok(Some(format!("{}/{}", key.bucket, key.name))),
                    Err(error) => Err(Error::from(error)),
                }
            })
            .buffered(CONCURRENCY)
            .try_filter_map(|missing| async move { Ok(missing) })
            .try_collect()
            .await?;
        report.missing += missing.len() as u64;
        let room = MAXIMUM_NAMES.saturating_sub(report.missing_names.len());
        report.missing_names.extend(missing.into_iter().take(room));
        match rows.last().and_then(|row| column(row, 0)) {
            Some(last) if rows.len() == BATCH => after = last,
            _ => return Ok(()),
        }
    }
}

/// Deletes files that have had no row for a day, interrupted writes, and uploads that no client continues.
///
/// # Errors
/// The database or the backend failed. What was deleted before stays deleted.
pub async fn sweep(storage: &Storage) -> Result<Swept, Error> {
    sweep_older(storage, GRACE).await
}

/// As [`sweep`], of what is older than this. Shorter than requests take, files of requests that are not over are deleted.
///
/// # Errors
/// As [`sweep`].
pub async fn sweep_older(storage: &Storage, grace: TimeDelta) -> Result<Swept, Error> {
    let mut swept = Swept::default();
    let before = storage.now() - grace;
    let backend = storage.backend();
    swept.leftovers = backend.delete_leftovers(before).await?;
    for id in backend.staging().list_idle(storage.now() - storage.config().tus.lifetime()).await? {
        backend.staging().remove(id).await?;
        storage.open_uploads().end(id);
        swept.uploads += 1;
    }
    // Before the files, so that those of the parts have no row any more.
    swept.uploads += delete_abandoned_parts(storage).await?;
    let mut batches = backend.list().try_chunks(BATCH);
    while let Some(batch) = batches.next().await {
        let files = batch.map_err(|error| Error::from(error.1))?;
        let old: Vec<ListedFile> = files.into_iter().filter(|file| file.named_at < before).collect();
        if old.is_empty() {
            continue;
        }
        for orphan in find_orphans(storage, old).await? {
            backend.delete_listed(&orphan).await?;
            swept.files += 1;
        }
    }
    // What other processes wrote and deleted counts from now on.
    backend.space().await?;
    Ok(swept)
}

/// Deletes the rows of uploads of several parts that have got none for [`ABANDONED`]; returns how many.
async fn delete_abandoned_parts(storage: &Storage) -> Result<u64, Error> {
    let statement = sql(
        "DELETE FROM storage.s3_multipart_uploads AS uploads \
         WHERE uploads.created_at < $1::timestamptz AND NOT EXISTS (\
             SELECT FROM storage.s3_multipart_uploads_parts AS parts \
             WHERE parts.upload_id = uploads.id AND parts.created_at >= $1::timestamptz) \
         RETURNING uploads.id",
        [text((storage.now() - ABANDONED).to_rfc3339())],
    );
    Ok(storage.database().run(&scope(storage), statement).await?.len() as u64)
}

/// Sweeps once an hour, and closes connections that are not used, until the future is dropped.
pub async fn maintain(storage: Arc<Storage>) {
    let mut until_sweep = PRUNE_INTERVAL;
    loop {
        tokio::time::sleep(PRUNE_INTERVAL).await;
        storage.database().pool().prune();
        until_sweep = until_sweep.saturating_sub(PRUNE_INTERVAL);
        if until_sweep.is_zero() {
            until_sweep = INTERVAL;
            match sweep(&storage).await {
                Ok(swept) if swept == Swept::default() => {}
                Ok(Swept { files, leftovers, uploads }) => {
                    tracing::info!(files, leftovers, uploads, "deleted files without rows");
                }
                Err(error) => tracing::warn!(cause = error.cause, "files without rows were not deleted"),
            }
        }
    }
}
