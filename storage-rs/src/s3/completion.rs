//! The end of an upload of several parts: its parts become one file, and its rows become the row of an object.
//!
//! Two requests may complete one upload at the same time, at one server or at two. Each joins the parts in a file of its own. One
//! transaction writes the row and deletes the upload, so that one request writes; the other one answers as it did.

use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use serde_json::Value;
use uuid::{Builder, Uuid};

use super::multipart_rows::{PartRow, UploadRow, Uploads, part_file};
use crate::backend::{ContentHeaders, FileFacts, FileKey, concatenate};
use crate::database::rows::text as column;
use crate::database::{sql, text};
use crate::error::Error;
use crate::objects::write::{self, NewObject};

/// The characters of a version that say which parts of which upload it has; the others are random.
const ORIGIN: usize = 18;

/// An upload that becomes an object.
pub(super) struct Completion {
    pub uploads: Uploads,
    pub upload: UploadRow,
    /// In the order of their numbers.
    pub parts: Vec<PartRow>,
    pub headers: ContentHeaders,
    /// The claim `sub` of the caller.
    pub owner: Option<String>,
    /// Whether an object that exists is replaced.
    pub replaces: bool,
}

/// A version that is new, and begins with the digest of the upload and its parts.
fn new_version(upload: &str, parts: &[PartRow]) -> String {
    let mut origin = Context::new(&SHA256);
    origin.update(upload.as_bytes());
    for part in parts {
        origin.update(format!("\0{}\0{}", part.number, part.etag).as_bytes());
    }
    #[expect(clippy::disallowed_methods, reason = "versions only have to differ")]
    let mut bytes = Uuid::new_v4().into_bytes();
    bytes[..8].copy_from_slice(&origin.finish().as_ref()[..8]);
    Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

impl Completion {
    /// Writes the object, and returns its entity tag.
    ///
    /// # Errors
    /// 404: the upload was aborted, or completed with other parts. 409: the object exists and is not to be replaced.
    pub(super) async fn run(self) -> Result<String, Error> {
        let mut object = NewObject {
            target: self.upload.target.clone(),
            version: new_version(&self.upload.id, &self.parts),
            owner: self.owner.clone(),
            metadata: Value::Null,
            user_metadata: self.upload.user_metadata.clone(),
            replaces: self.replaces,
        };
        let storage = &self.uploads.storage;
        let facts = match self.join(&object.file()).await {
            Ok(facts) => facts,
            // The parts go when another request ends the upload.
            Err(error) => {
                return match self.uploads.find(&self.upload.id, &self.upload.target).await {
                    Ok(_) => Err(error),
                    Err(_) => self.find_completed(&object).await,
                };
            }
        };
        object.metadata = write::metadata(&facts, &self.headers.content_type, &self.headers.cache_control, None);
        match self.uploads.complete(&self.upload, &object).await {
            Ok(Some((written, mut files))) => {
                files.extend(written.replaced);
                storage.delete_files(&files).await;
                Ok(facts.etag)
            }
            Ok(None) => {
                storage.delete_files(&[object.file()]).await;
                self.find_completed(&object).await
            }
            Err(error) => {
                // After a lost connection the row may be there: the sweeper decides.
                if !error.may_have_happened {
                    storage.delete_files(&[object.file()]).await;
                }
                Err(error)
            }
        }
    }

    async fn join(&self, file: &FileKey) -> Result<FileFacts, Error> {
        let backend = self.uploads.storage.backend();
        let parts = self.parts.iter().map(|part| part_file(&self.upload.target, &part.id)).collect();
        let content = concatenate(Arc::clone(backend), parts).await?;
        Ok(backend.put(file, &self.headers, content).await?)
    }

    /// The entity tag of the object that another request made of the same parts.
    async fn find_completed(&self, object: &NewObject) -> Result<String, Error> {
        let statement = sql(
            "SELECT metadata ->> 'eTag' FROM storage.objects WHERE name = $1 AND bucket_id = $2 AND starts_with(version, $3)",
            [
                text(object.target.name.as_str()),
                text(object.target.bucket.as_str()),
                text(object.version.get(..ORIGIN).unwrap_or_default()),
            ],
        );
        let rows = self.uploads.storage.database().run(&self.uploads.scope, statement).await?;
        let etag = rows.first().and_then(|row| column(row, 0));
        etag.ok_or_else(|| Error::no_such_upload(&self.upload.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_same_parts_begin_alike_and_differ() {
        let part = |number: i32, etag: &str| PartRow {
            id: String::new(),
            number,
            etag: etag.to_owned(),
            size: 1,
            created_at: String::new(),
        };
        let first = new_version("upload", &[part(1, "a"), part(2, "b")]);
        let second = new_version("upload", &[part(1, "a"), part(2, "b")]);
        assert_ne!(first, second);
        assert_eq!(first[..ORIGIN], second[..ORIGIN]);
        for other in [
            new_version("other", &[part(1, "a"), part(2, "b")]),
            new_version("upload", &[part(1, "a")]),
            new_version("upload", &[part(2, "a"), part(1, "b")]),
        ] {
            assert_ne!(first[..ORIGIN], other[..ORIGIN]);
        }
    }
}
