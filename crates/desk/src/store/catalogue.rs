//! `basalt.catalogue_revisions`: what owners change of the catalogue.

use foundation::time::Time;
use orders::products::UploadedProduct;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

statements! {
    LOCK = "catalogue.lock": "SELECT pg_advisory_xact_lock(hashtextextended('basalt.catalogue', 12))";

    /// The latest revision of each template.
    #[repeatable]
    LIST = "catalogue.list": "
        SELECT r.template, r.revision, r.created_at, r.author, r.changes::text AS changes,
               f.id AS file, f.name AS file_name, f.size AS file_size
        FROM (SELECT DISTINCT ON (l.template) l.template, l.revision, l.created_at, l.author, l.changes
              FROM basalt.catalogue_revisions l
              ORDER BY l.template, l.revision DESC) r
        LEFT JOIN basalt.shop_files f
               ON f.id::text = r.changes ->> 'product_file' AND f.kind = 'product' AND f.is_complete
        ORDER BY r.template";

    #[repeatable]
    LIST_OF_TEMPLATE = "catalogue.list_of_template": "
        SELECT r.template, r.revision, r.created_at, r.author, r.changes::text AS changes,
               f.id AS file, f.name AS file_name, f.size AS file_size
        FROM basalt.catalogue_revisions r
        LEFT JOIN basalt.shop_files f
               ON f.id::text = r.changes ->> 'product_file' AND f.kind = 'product' AND f.is_complete
        WHERE r.template = :template
        ORDER BY r.revision DESC
        LIMIT :limit";

    /// Of concurrent changes of one revision one is stored.
    INSERT = "catalogue.insert": "
        INSERT INTO basalt.catalogue_revisions (template, revision, created_at, author, changes)
        VALUES (:template, :revision, :at, :author, :changes::text::jsonb)
        ON CONFLICT (template, revision) DO NOTHING";

    /// The lowest number from the given one that no template has or had: its orders and revisions belong to another one.
    #[repeatable]
    FIND_FREE_NUMBER = "catalogue.find_free_number": "
        SELECT min(n.number)
        FROM generate_series(:first::integer, 9999) n (number)
        WHERE NOT EXISTS (SELECT FROM basalt.catalogue_revisions r WHERE r.template = n.number)
          AND NOT EXISTS (SELECT FROM basalt.orders o WHERE o.template = n.number)";

    DELETE_OLD = "catalogue.delete_old": "
        DELETE FROM basalt.catalogue_revisions
        WHERE template = :template
          AND revision <= :last";
}

/// A stored revision.
#[derive(Debug, Clone)]
pub(crate) struct StoredChange {
    /// The id of the template.
    pub template: i32,
    /// The number, from 1.
    pub revision: i32,
    /// When it was stored.
    pub created_at: Time,
    /// The address of the owner.
    pub author: String,
    /// The changed values as a JSON object.
    pub changes: String,
    /// The uploaded file that they name for buyers.
    pub product: Option<UploadedProduct>,
}

impl FromRow<'_, PgRow> for StoredChange {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let product = match row.try_get::<Option<Uuid>, _>("file")? {
            Some(id) => {
                let size: i64 = row.try_get("file_size")?;
                let size = u64::try_from(size).unwrap_or_default();
                Some(UploadedProduct { id, name: row.try_get("file_name")?, size })
            }
            None => None,
        };
        Ok(Self {
            product,
            template: row.try_get("template")?,
            revision: row.try_get("revision")?,
            created_at: row.try_get("created_at")?,
            author: row.try_get("author")?,
            changes: row.try_get("changes")?,
        })
    }
}

/// Waits for other changes of the catalogue, until the end of the transaction.
pub(crate) async fn lock(db: &mut Connection) -> Result<()> {
    db.execute(bind!(LOCK)).await.map(drop)
}

/// Lists the latest revision of each changed template.
pub(crate) async fn list(db: &mut Connection) -> Result<Vec<StoredChange>> {
    db.fetch_all(bind!(LIST)).await
}

/// Lists the latest revisions of a template, the newest first.
pub(crate) async fn list_of_template(db: &mut Connection, template: i32, limit: i64) -> Result<Vec<StoredChange>> {
    db.fetch_all(bind!(LIST_OF_TEMPLATE, template, limit)).await
}

/// Stores a revision; `false` if there is one of this number.
pub(crate) async fn insert(db: &mut Connection, new: &StoredChange) -> Result<bool> {
    let StoredChange { template, revision, created_at: at, author, changes, .. } = new;
    let (template, revision, at) = (*template, *revision, *at);
    let (author, changes) = (author.as_str(), changes.as_str());
    Ok(db.execute(bind!(INSERT, template, revision, at, author, changes)).await? > 0)
}

/// Returns the lowest number from `first` that a new template can have; `None` if there is none.
pub(crate) async fn find_free_number(db: &mut Connection, first: i32) -> Result<Option<i32>> {
    let (number,): (Option<i32>,) = db.fetch_one(bind!(FIND_FREE_NUMBER, first)).await?;
    Ok(number)
}

/// Deletes the revisions of a template up to a number.
pub(crate) async fn delete_old(db: &mut Connection, template: i32, last: i32) -> Result<()> {
    db.execute(bind!(DELETE_OLD, template, last)).await.map(drop)
}
