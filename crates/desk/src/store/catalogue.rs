//! `basalt.catalogue_revisions`: what owners change of the catalogue.

use gotrue_rules::domain::user::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

statements! {
    LOCK = "catalogue.lock": "SELECT pg_advisory_xact_lock(hashtextextended('basalt.catalogue', 12))";

    /// The latest revision of each template.
    LIST = "catalogue.list": "
        SELECT DISTINCT ON (r.template) r.template, r.revision, r.created_at, r.author, r.changes::text AS changes
        FROM basalt.catalogue_revisions r
        ORDER BY r.template, r.revision DESC";

    LIST_OF_TEMPLATE = "catalogue.list_of_template": "
        SELECT r.template, r.revision, r.created_at, r.author, r.changes::text AS changes
        FROM basalt.catalogue_revisions r
        WHERE r.template = :template
        ORDER BY r.revision DESC
        LIMIT :limit";

    /// Of concurrent changes of one revision one is stored.
    INSERT = "catalogue.insert": "
        INSERT INTO basalt.catalogue_revisions (template, revision, created_at, author, changes)
        VALUES (:template, :revision, :at, :author, :changes::text::jsonb)
        ON CONFLICT (template, revision) DO NOTHING";

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
}

impl FromRow<'_, PgRow> for StoredChange {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
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
    let StoredChange { template, revision, created_at: at, author, changes } = new;
    let (template, revision, at) = (*template, *revision, *at);
    let (author, changes) = (author.as_str(), changes.as_str());
    Ok(db.execute(bind!(INSERT, template, revision, at, author, changes)).await? > 0)
}

/// Deletes the revisions of a template up to a number.
pub(crate) async fn delete_old(db: &mut Connection, template: i32, last: i32) -> Result<()> {
    db.execute(bind!(DELETE_OLD, template, last)).await.map(drop)
}
