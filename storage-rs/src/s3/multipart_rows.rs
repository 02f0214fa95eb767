//! Rows of multipart uploads: the upload with the bytes that are reserved, and the parts that arrived.
//!
//! The bytes are protected by a signature, so that a role that may write the table cannot lift the limit of a bucket.

use std::sync::Arc;

use aws_lc_rs::hmac::{self, HMAC_SHA256, Key};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use postgrest_rs::sql::Sql;
use serde_json::Value;
use tokio_postgres::Row;

use crate::backend::FileKey;
use crate::database::rows::{TIME, json, text as column};
use crate::database::scope::Scope;
use crate::database::{End, Results, Step, nullable, sql, text};
use crate::error::{Code, Error};
use crate::objects::write::{self, NewObject, Written};
use crate::storage::Storage;
use crate::target::Target;

/// The attempts to change the reserved bytes while other requests do.
const ATTEMPTS: usize = 20;

#[derive(Debug, Clone)]
pub(super) struct UploadRow {
    pub id: String,
    pub target: Target,
    pub user_metadata: Option<Value>,
    pub metadata: Option<Value>,
    size: i64,
    signature: String,
}

/// A part of an upload.
#[derive(Debug, Clone)]
pub(super) struct PartRow {
    /// Names its file.
    pub id: String,
    pub number: i32,
    pub etag: String,
    pub size: i64,
    pub created_at: String,
}

/// The rows of uploads, as the server writes them.
pub(super) struct Uploads {
    pub storage: Arc<Storage>,
    pub scope: Scope,
}

impl Uploads {
    fn sign(&self, id: &str, size: i64) -> String {
        let key = Key::new(HMAC_SHA256, self.storage.config().jwt_secret.as_bytes());
        hex::encode(hmac::sign(&key, format!("s3-multipart:{id}:{size}").as_bytes()).as_ref())
    }

    fn verify(&self, row: &UploadRow) -> Result<(), Error> {
        let key = Key::new(HMAC_SHA256, self.storage.config().jwt_secret.as_bytes());
        let signature = hex::decode(&row.signature).unwrap_or_default();
        hmac::verify(&key, format!("s3-multipart:{}:{}", row.id, row.size).as_bytes(), &signature)
            .map_err(|_| Error::new(Code::InvalidUploadSignature, 400, "Invalid upload Signature"))
    }

    /// Writes the row of an upload with these columns `metadata` and `user_metadata`.
    ///
    /// # Errors
    /// 429: the owner has `most` uploads already.
    pub(super) async fn create(
        &self,
        id: &str,
        target: &Target,
        owner: Option<&str>,
        most: Option<usize>,
        [metadata, user_metadata]: [&Value; 2],
    ) -> Result<(), Error> {
        let statement = sql(
            "INSERT INTO storage.s3_multipart_uploads \
             (id, bucket_id, key, version, upload_signature, owner_id, metadata, user_metadata) \
             SELECT $1, $2, $3, $1, $4, $5, $6::jsonb, $7::jsonb WHERE $8::bigint IS NULL OR $8::bigint > (\
                 SELECT count(*) FROM storage.s3_multipart_uploads WHERE owner_id IS NOT DISTINCT FROM $5) \
             RETURNING id",
            [
                text(id),
                text(target.bucket.as_str()),
                text(target.name.as_str()),
                text(self.sign(id, 0)),
                nullable(owner),
                text(metadata.to_string()),
                text(user_metadata.to_string()),
                nullable(most.map(|most| most.to_string())),
            ],
        );
        let created = self.storage.database().run(&self.scope, statement).await?;
        if created.is_empty() { Err(Error::too_many_open_uploads()) } else { Ok(()) }
    }

    /// Finds an upload of an object.
    pub(super) async fn find(&self, id: &str, target: &Target) -> Result<UploadRow, Error> {
        let statement = sql(
            "SELECT id, in_progress_size::text, upload_signature, metadata::text, user_metadata::text \
             FROM storage.s3_multipart_uploads WHERE id = $1 AND bucket_id = $2 AND key = $3",
            [text(id.replace('\0', "")), text(target.bucket.as_str()), text(target.name.as_str())],
        );
        let rows = self.storage.database().run(&self.scope, statement).await?;
        let row = rows.first().ok_or_else(|| Error::no_such_upload(id))?;
        Ok(UploadRow {
            id: column(row, 0).unwrap_or_default(),
            target: target.clone(),
            size: column(row, 1).and_then(|size| size.parse().ok()).unwrap_or_default(),
            signature: column(row, 2).unwrap_or_default(),
            metadata: json(row, 3),
            user_metadata: json(row, 4),
        })
    }

    /// Changes the reserved bytes by a difference, which must not lift them above the maximum.
    pub(super) async fn reserve(&self, mut upload: UploadRow, difference: i64, maximum: u64) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            self.verify(&upload)?;
            let size = upload.size.saturating_add(difference).max(0);
            if difference > 0 && size.cast_unsigned() > maximum {
                return Err(Error::too_large());
            }
            let statement = sql(
                "UPDATE storage.s3_multipart_uploads SET in_progress_size = $2::bigint, upload_signature = $3 \
                 WHERE id = $1 AND in_progress_size = $4::bigint RETURNING id",
                [
                    text(upload.id.as_str()),
                    text(size.to_string()),
                    text(self.sign(&upload.id, size)),
                    text(upload.size.to_string()),
                ],
            );
            if !self.storage.database().run(&self.scope, statement).await?.is_empty() {
                return Ok(());
            }
            upload = self.find(&upload.id.clone(), &upload.target.clone()).await?;
        }
        Err(Error::resource_locked())
    }

    /// Writes a part, and returns the former ones of the same number.
    pub(super) async fn insert_part(
        &self,
        upload: &UploadRow,
        part: &PartRow,
        owner: Option<&str>,
    ) -> Result<Vec<PartRow>, Error> {
        let former = sql(
            "DELETE FROM storage.s3_multipart_uploads_parts WHERE upload_id = $1 AND part_number = $2::integer \
             RETURNING id::text, part_number::text, etag, size::text, ''",
            [text(upload.id.as_str()), text(part.number.to_string())],
        );
        let insertion = sql(
            "INSERT INTO storage.s3_multipart_uploads_parts \
             (id, upload_id, size, part_number, bucket_id, key, etag, owner_id, version) \
             VALUES ($1::uuid, $2, $3::bigint, $4::integer, $5, $6, $7, $8, $2)",
            [
                text(part.id.as_str()),
                text(upload.id.as_str()),
                text(part.size.to_string()),
                text(part.number.to_string()),
                text(upload.target.bucket.as_str()),
                text(upload.target.name.as_str()),
                text(part.etag.as_str()),
                nullable(owner),
            ],
        );
        // Parts of one number wait for one another.
        let steps = [Step::As(&self.scope), Step::Run(lock(upload)), Step::Run(former), Step::Run(insertion)];
        let mut results = self.storage.database().fly(&steps, End::Commit).await?.into_iter();
        let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
        if next()?.is_empty() {
            return Err(Error::no_such_upload(&upload.id));
        }
        let former = next()?;
        next()?;
        Ok(former.iter().map(read_part).collect())
    }

    /// The parts of an upload as this scope sees them, in the order of their numbers.
    pub(super) async fn list_parts(
        &self,
        scope: &Scope,
        id: &str,
        after: i32,
        limit: u32,
    ) -> Result<Vec<PartRow>, Error> {
        let statement = sql(
            &format!(
                "SELECT DISTINCT ON (part_number) id::text, part_number::text, etag, size::text, \
                 to_char(created_at AT TIME ZONE 'UTC', '{TIME}') FROM storage.s3_multipart_uploads_parts \
                 WHERE upload_id = $1 AND part_number > $2::integer ORDER BY part_number, created_at DESC LIMIT $3::bigint"
            ),
            [text(id), text(after.to_string()), text(limit.to_string())],
        );
        let rows = self.storage.database().run(scope, statement).await?;
        Ok(rows.iter().map(read_part).collect())
    }

    /// Deletes an upload, and returns the files of its parts.
    pub(super) async fn delete(&self, upload: &UploadRow) -> Result<Vec<FileKey>, Error> {
        let [parts, deletion] = deletions(upload);
        let steps = [Step::As(&self.scope), Step::Run(lock(upload)), Step::Run(parts), Step::Run(deletion)];
        let mut results = self.storage.database().fly(&steps, End::Commit).await?.into_iter();
        let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
        next()?;
        let parts = next()?;
        next()?;
        Ok(part_files(upload, &parts))
    }

    /// Deletes an upload and writes the row of its object, in one transaction. Returns the row with the files of the parts; `None`,
    /// and nothing is done, if another request ended the upload.
    pub(super) async fn complete(
        &self,
        upload: &UploadRow,
        object: &NewObject,
    ) -> Result<Option<(Written, Vec<FileKey>)>, Error> {
        let [parts, deletion] = deletions(upload);
        let steps = [
            Step::As(&self.scope),
            Step::Run(write::lock(&upload.target)),
            Step::Run(lock(upload)),
            Step::Run(parts),
            Step::Run(deletion),
            Step::Run(object.write()),
        ];
        let decide = |results: Results| {
            let outcome = read_completion(results, upload, object);
            (if matches!(outcome, Ok(Some(_))) { End::Commit } else { End::Rollback }, outcome)
        };
        self.storage.database().fly_and_decide(&steps, decide).await?
    }
}

/// The statement that keeps other requests from ending an upload or adding parts, until the transaction ends.
fn lock(upload: &UploadRow) -> Sql {
    sql("SELECT id FROM storage.s3_multipart_uploads WHERE id = $1 FOR UPDATE", [text(upload.id.as_str())])
}

/// The statements that delete the parts of an upload, which they return, and the upload.
fn deletions(upload: &UploadRow) -> [Sql; 2] {
    [
        "DELETE FROM storage.s3_multipart_uploads_parts WHERE upload_id = $1 RETURNING id::text",
        "DELETE FROM storage.s3_multipart_uploads WHERE id = $1",
    ]
    .map(|statement| sql(statement, [text(upload.id.as_str())]))
}

fn part_files(upload: &UploadRow, parts: &[Row]) -> Vec<FileKey> {
    parts.iter().filter_map(|row| column(row, 0)).map(|id| part_file(&upload.target, &id)).collect()
}

fn read_completion(
    results: Results,
    upload: &UploadRow,
    object: &NewObject,
) -> Result<Option<(Written, Vec<FileKey>)>, Error> {
    let mut results = results.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    next()?;
    if next()?.is_empty() {
        return Ok(None);
    }
    let parts = next()?;
    next()?;
    Ok(Some((object.read_written(next())?, part_files(upload, &parts))))
}

fn read_part(row: &Row) -> PartRow {
    let number = |index: usize| column(row, index).unwrap_or_default();
    PartRow {
        id: column(row, 0).unwrap_or_default(),
        number: number(1).parse().unwrap_or_default(),
        etag: column(row, 2).unwrap_or_default(),
        size: number(3).parse().unwrap_or_default(),
        created_at: column(row, 4).unwrap_or_default(),
    }
}

pub(super) fn part_file(target: &Target, id: &str) -> FileKey {
    FileKey { bucket: target.bucket.clone(), name: target.name.clone(), version: Some(id.to_owned()) }
}

/// A marker of a list: a name, or the id of an upload.
pub(super) fn encode_marker(text: &str) -> String {
    STANDARD.encode(format!("l:{text}"))
}

/// Reads a marker of a list.
pub(super) fn decode_marker(marker: &str) -> Result<String, Error> {
    let text = STANDARD.decode(marker).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.as_deref().and_then(|text| text.strip_prefix("l:")).filter(|text| !text.contains('\0'));
    text.map(str::to_owned).ok_or_else(|| Error::invalid_parameter("continuation token"))
}
