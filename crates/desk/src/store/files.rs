//! `basalt.shop_files`: pictures and product files that owners upload.

use foundation::time::Time;
use orders::products::UploadedProduct;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use uuid::Uuid;

statements! {
    INSERT = "shop_files.insert": "
        INSERT INTO basalt.shop_files (id, kind, name, created_at)
        VALUES (:id, :kind, :name, :at)";

    INSERT_CHUNK = "shop_files.insert_chunk": "
        INSERT INTO basalt.shop_file_chunks (file, position, content)
        VALUES (:id, :position, :content)";

    COMPLETE = "shop_files.complete": "
        UPDATE basalt.shop_files
        SET size = :size, is_complete = true
        WHERE id = :id";

    DELETE = "shop_files.delete": "DELETE FROM basalt.shop_files WHERE id = :id";

    #[repeatable]
    FIND = "shop_files.find": "
        SELECT f.name, f.size
        FROM basalt.shop_files f
        WHERE f.id = :id
          AND f.kind = :kind
          AND f.is_complete";

    /// The files that the kept revisions of a template name.
    #[repeatable]
    LIST_OF_TEMPLATE = "shop_files.list_of_template": "
        SELECT DISTINCT f.id, f.name, f.size
        FROM basalt.catalogue_revisions r
        JOIN basalt.shop_files f ON f.id::text IN (r.changes ->> 'picture', r.changes ->> 'product_file')
        WHERE r.template = :template";

    /// A picture has one part.
    #[repeatable]
    READ_PICTURE = "shop_files.read_picture": "
        SELECT c.content
        FROM basalt.shop_files f
        JOIN basalt.shop_file_chunks c ON c.file = f.id
        WHERE f.id = :id
          AND f.kind = 'picture'
          AND f.is_complete";

    DELETE_UNUSED = "shop_files.delete_unused": "
        DELETE FROM basalt.shop_files f
        WHERE f.created_at < :before
          AND NOT EXISTS (SELECT
                          FROM basalt.catalogue_revisions r
                          WHERE f.id::text IN (r.changes ->> 'picture', r.changes ->> 'product_file'))";
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// It is shown in the shop.
    Picture,
    /// Buyers get it.
    Product,
}

impl FileKind {
    fn name(self) -> &'static str {
        match self {
            Self::Picture => "picture",
            Self::Product => "product",
        }
    }
}

/// Name and size of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub id: Uuid,
    /// The name that browsers save it under.
    pub name: String,
    /// In bytes.
    pub size: i64,
}

impl FileFacts {
    /// Returns the file as orders deliver it.
    pub(crate) fn into_product(self) -> UploadedProduct {
        UploadedProduct { id: self.id, name: self.name, size: u64::try_from(self.size).unwrap_or_default() }
    }
}

/// Stores a file whose content arrives later.
pub(crate) async fn insert(db: &mut Connection, id: Uuid, kind: FileKind, name: &str, at: Time) -> Result<()> {
    let kind = kind.name();
    db.execute(bind!(INSERT, id, kind, name, at)).await.map(drop)
}

/// Stores a part of the content, from 0.
pub(crate) async fn insert_chunk(db: &mut Connection, id: Uuid, position: i32, content: &[u8]) -> Result<()> {
    db.execute(bind!(INSERT_CHUNK, id, position, content)).await.map(drop)
}

/// Marks a file as complete, with its size in bytes.
pub(crate) async fn complete(db: &mut Connection, id: Uuid, size: i64) -> Result<()> {
    db.execute(bind!(COMPLETE, id, size)).await.map(drop)
}

/// Deletes a file.
pub(crate) async fn delete(db: &mut Connection, id: Uuid) -> Result<()> {
    db.execute(bind!(DELETE, id)).await.map(drop)
}

/// Returns a complete file of this kind.
pub(crate) async fn find(db: &mut Connection, id: Uuid, kind: FileKind) -> Result<Option<FileFacts>> {
    let kind = kind.name();
    let found: Option<(String, i64)> = db.fetch_optional(bind!(FIND, id, kind)).await?;
    Ok(found.map(|(name, size)| FileFacts { id, name, size }))
}

/// Lists the files that the revisions of a template name.
pub(crate) async fn list_of_template(db: &mut Connection, template: i32) -> Result<Vec<FileFacts>> {
    let rows: Vec<(Uuid, String, i64)> = db.fetch_all(bind!(LIST_OF_TEMPLATE, template)).await?;
    Ok(rows.into_iter().map(|(id, name, size)| FileFacts { id, name, size }).collect())
}

/// Returns the content of a picture.
pub(crate) async fn read_picture(db: &mut Connection, id: Uuid) -> Result<Option<Vec<u8>>> {
    let row: Option<(Vec<u8>,)> = db.fetch_optional(bind!(READ_PICTURE, id)).await?;
    Ok(row.map(|(content,)| content))
}

/// Deletes the files from before a time that no revision names. Runs in a transaction that holds the lock of the catalogue.
pub(crate) async fn delete_unused(db: &mut Connection, before: Time) -> Result<()> {
    db.execute(bind!(DELETE_UNUSED, before)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::{DateTime, TimeDelta};
    use gotrue_rs::testing::clone_migrated;

    use super::*;
    use crate::store::catalogue::{self, StoredChange};

    #[tokio::test]
    async fn files_are_deleted_once_they_are_old_and_no_revision_names_them() {
        let database = clone_migrated().await;
        let mut db = Connection::pooled(database.auth_pool(), Arc::default());
        let at = DateTime::UNIX_EPOCH;
        let [picture, product, unused, incomplete, late] = [1, 2, 3, 4, 5].map(Uuid::from_u128);
        for (id, kind, at) in [
            (picture, FileKind::Picture, at),
            (product, FileKind::Product, at),
            (unused, FileKind::Product, at),
            (incomplete, FileKind::Product, at),
            (late, FileKind::Picture, at + TimeDelta::hours(2)),
        ] {
            insert(&mut db, id, kind, "a.zip", at).await.expect("stored");
            insert_chunk(&mut db, id, 0, b"content").await.expect("stored");
            if id != incomplete {
                complete(&mut db, id, 7).await.expect("stored");
            }
        }
        assert_eq!(find(&mut db, incomplete, FileKind::Product).await.expect("an answer"), None);
        assert_eq!(find(&mut db, product, FileKind::Picture).await.expect("an answer"), None);
        for (revision, changes) in
            [(1, format!("{{\"picture\": \"{picture}\", \"product_file\": \"{product}\"}}")), (2, "{}".to_owned())]
        {
            let (template, author) = (4, String::new());
            let new = StoredChange { template, revision, created_at: at, author, changes, product: None };
            assert!(catalogue::insert(&mut db, &new).await.expect("stored"));
        }
        let named = list_of_template(&mut db, 4).await.expect("files");
        assert_eq!(named.len(), 2, "those of earlier revisions, too: {named:?}");
        delete_unused(&mut db, at + TimeDelta::hours(1)).await.expect("deleted");
        for (id, kind, is_kept) in [
            (picture, FileKind::Picture, true),
            (product, FileKind::Product, true),
            (unused, FileKind::Product, false),
            (late, FileKind::Picture, true),
        ] {
            assert_eq!(find(&mut db, id, kind).await.expect("an answer").is_some(), is_kept, "{id}");
        }
        let left = database.query("SELECT file FROM basalt.shop_file_chunks").await.len();
        assert_eq!(left, 3, "the parts go with their file");
        assert_eq!(read_picture(&mut db, picture).await.expect("an answer").as_deref(), Some(&b"content"[..]));
    }
}
