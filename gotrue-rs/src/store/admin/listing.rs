//! Lists users of an audience by page number or by cursor, without secrets, identities and factors.

use gotrue_rules::domain::user::User;
use gotrue_rules::wire::page::{CursorPage, Page, SortOrder};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use crate::store::rows::{ShownUserRow, shown_user_columns};

statements! {
    /// The condition stands here twice: a shared CTE for the count and the page would be materialized with all matching
    /// users, whereas the page alone is an index scan.
    #[repeatable]
    PAGE_NEWEST = "admin.page_newest_first": concat!(
        "SELECT t.total, ",
        shown_user_columns!(),
        "
         FROM (SELECT count(*) AS total
               FROM users u
               WHERE u.instance_id = '00000000-0000-0000-0000-000000000000'
                 AND u.aud = :audience
                 AND (:filter = ''
                      OR u.email LIKE '%' || :filter || '%'
                      OR u.raw_user_meta_data ->> 'full_name' ILIKE '%' || :filter || '%')) AS t
         LEFT JOIN (
             SELECT u.*
             FROM users u
             WHERE u.instance_id = '00000000-0000-0000-0000-000000000000'
               AND u.aud = :audience
               AND (:filter = ''
                    OR u.email LIKE '%' || :filter || '%'
                    OR u.raw_user_meta_data ->> 'full_name' ILIKE '%' || :filter || '%')
             ORDER BY u.created_at DESC, u.id DESC
             LIMIT :limit OFFSET :offset
         ) AS u ON true
         ORDER BY u.created_at DESC, u.id DESC"
    );

    #[repeatable]
    PAGE_OLDEST = "admin.page_oldest_first": concat!(
        "SELECT t.total, ",
        shown_user_columns!(),
        "
         FROM (SELECT count(*) AS total
               FROM users u
               WHERE u.instance_id = '00000000-0000-0000-0000-000000000000'
                 AND u.aud = :audience
                 AND (:filter = ''
                      OR u.email LIKE '%' || :filter || '%'
                      OR u.raw_user_meta_data ->> 'full_name' ILIKE '%' || :filter || '%')) AS t
         LEFT JOIN (
             SELECT u.*
             FROM users u
             WHERE u.instance_id = '00000000-0000-0000-0000-000000000000'
               AND u.aud = :audience
               AND (:filter = ''
                    OR u.email LIKE '%' || :filter || '%'
                    OR u.raw_user_meta_data ->> 'full_name' ILIKE '%' || :filter || '%')
             ORDER BY u.created_at ASC, u.id ASC
             LIMIT :limit OFFSET :offset
         ) AS u ON true
         ORDER BY u.created_at ASC, u.id ASC"
    );

    #[repeatable]
    AFTER_NEWEST = "admin.after_newest_first": concat!(
        "SELECT ",
        shown_user_columns!(),
        "
         FROM users u
         WHERE u.instance_id = '00000000-0000-0000-0000-000000000000'
           AND u.aud = :audience
           AND (:filter = ''
                OR u.email LIKE '%' || :filter || '%'
                OR u.raw_user_meta_data ->> 'full_name' ILIKE '%' || :filter || '%')
           AND (:after_time::timestamptz IS NULL OR (u.created_at, u.id) < (:after_time, :after_id::uuid))
         ORDER BY u.created_at DESC, u.id DESC
         LIMIT :limit"
    );

    #[repeatable]
    AFTER_OLDEST = "admin.after_oldest_first": concat!(
        "SELECT ",
        shown_user_columns!(),
        "
         FROM users u
         WHERE u.instance_id = '00000000-0000-0000-0000-000000000000'
           AND u.aud = :audience
           AND (:filter = ''
                OR u.email LIKE '%' || :filter || '%'
                OR u.raw_user_meta_data ->> 'full_name' ILIKE '%' || :filter || '%')
           AND (:after_time::timestamptz IS NULL OR (u.created_at, u.id) > (:after_time, :after_id::uuid))
         ORDER BY u.created_at ASC, u.id ASC
         LIMIT :limit"
    );
}

/// Selection and order of the listed users.
#[derive(Debug, Clone, Copy)]
pub struct UserSelection<'a> {
    pub audience: &'a str,
    /// Matched against the address, and case-insensitively against the full name.
    ///
    /// `%` and `_` are wildcards.
    pub filter: &'a str,
    /// The order of the list.
    pub order: SortOrder,
}

/// A user of a page (`None` where the page is empty) and the number of users on all pages.
struct PageRow {
    total: i64,
    user: Option<User>,
}

impl FromRow<'_, PgRow> for PageRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let is_there = row.try_get::<Option<uuid::Uuid>, _>("id")?.is_some();
        let user = if is_there { Some(ShownUserRow::from_row(row)?.0) } else { None };
        Ok(Self { total: row.try_get("total")?, user })
    }
}

/// Returns one page and the number of users on all pages.
pub async fn list_page(db: &mut Connection, which: UserSelection<'_>, page: Page) -> Result<(Vec<User>, u64)> {
    let (audience, filter, limit, offset) = (which.audience, which.filter, page.limit(), page.offset());
    let bound = match which.order {
        SortOrder::NewestFirst => bind!(PAGE_NEWEST, audience, filter, limit, offset),
        SortOrder::OldestFirst => bind!(PAGE_OLDEST, audience, filter, limit, offset),
    };
    let rows: Vec<PageRow> = db.fetch_all(bound).await?;
    let total = rows.first().map_or(0, |row| row.total);
    let accounts = rows.into_iter().filter_map(|row| row.user).collect();
    Ok((accounts, u64::try_from(total).unwrap_or(0)))
}

/// Returns the users after a cursor: one more than the page size where more exist.
pub async fn list_after(db: &mut Connection, which: UserSelection<'_>, page: CursorPage) -> Result<Vec<User>> {
    let (audience, filter) = (which.audience, which.filter);
    let (after_time, after_id) = (page.after.map(|cursor| cursor.created_at), page.after.map(|cursor| cursor.id));
    let limit = i64::try_from(page.limit + 1).unwrap_or(i64::MAX);
    let bound = match which.order {
        SortOrder::NewestFirst => bind!(AFTER_NEWEST, audience, filter, after_time, after_id, limit),
        SortOrder::OldestFirst => bind!(AFTER_OLDEST, audience, filter, after_time, after_id, limit),
    };
    let rows: Vec<ShownUserRow> = db.fetch_all(bound).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}
