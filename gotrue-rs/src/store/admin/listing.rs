//! Lists users of an audience by page number or by cursor, without identities and factors.

use gotrue_rules::domain::user::User;
use gotrue_rules::wire::page::{CursorPage, Page, SortOrder};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use crate::store::Result;
use crate::store::rows::{AccountAloneRow, account_alone_columns};
use crate::store::statement::{Connection, Statement, args};

/// Selection and order of the listed users.
#[derive(Debug, Clone, Copy)]
pub struct UserSelection<'a> {
    /// The audience.
    pub audience: &'a str,
    /// Matched against the address, and case-insensitively against the full name.
    ///
    /// `%` and `_` are wildcards.
    pub filter: &'a str,
    /// The order of the list.
    pub order: SortOrder,
}

macro_rules! which {
    () => {
        "u.instance_id = '00000000-0000-0000-0000-000000000000'
         AND u.aud = $1
         AND ($2 = ''
              OR u.email LIKE '%' || $2 || '%'
              OR u.raw_user_meta_data ->> 'full_name' ILIKE '%' || $2 || '%')"
    };
}

// The condition stands here twice: a shared CTE for the count and the page would be materialized with all matching
// users, whereas the page alone is an index scan.
macro_rules! page {
    ($direction:literal) => {
        concat!(
            "SELECT t.total, ",
            account_alone_columns!(),
            "
             FROM (SELECT count(*) AS total FROM users u WHERE ",
            which!(),
            ") AS t
             LEFT JOIN (
                 SELECT u.* FROM users u WHERE ",
            which!(),
            "
                 ORDER BY u.created_at ",
            $direction,
            ", u.id ",
            $direction,
            "
                 LIMIT $3 OFFSET $4
             ) AS u ON true
             ORDER BY u.created_at ",
            $direction,
            ", u.id ",
            $direction
        )
    };
}

const PAGE_NEWEST: Statement = Statement { name: "admin.page_newest_first", sql: page!("DESC") };
const PAGE_OLDEST: Statement = Statement { name: "admin.page_oldest_first", sql: page!("ASC") };

/// A user of a page (`None` where the page is empty) and the number of users on all pages.
struct PageRow {
    total: i64,
    account: Option<User>,
}

impl FromRow<'_, PgRow> for PageRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let is_there = row.try_get::<Option<uuid::Uuid>, _>("id")?.is_some();
        let account = if is_there { Some(AccountAloneRow::from_row(row)?.0) } else { None };
        Ok(Self { total: row.try_get("total")?, account })
    }
}

/// Returns one page and the number of users on all pages.
pub async fn list_page(db: &mut Connection, which: UserSelection<'_>, page: Page) -> Result<(Vec<User>, u64)> {
    let statement = match which.order {
        SortOrder::NewestFirst => &PAGE_NEWEST,
        SortOrder::OldestFirst => &PAGE_OLDEST,
    };
    let values = args![which.audience, which.filter, page.limit(), page.offset()];
    let rows: Vec<PageRow> = db.fetch_all(statement, values).await?;
    let total = rows.first().map_or(0, |row| row.total);
    let accounts = rows.into_iter().filter_map(|row| row.account).collect();
    Ok((accounts, u64::try_from(total).unwrap_or(0)))
}

macro_rules! after {
    ($comes_after:literal, $direction:literal) => {
        concat!(
            "SELECT ",
            account_alone_columns!(),
            "
             FROM users u
             WHERE ",
            which!(),
            "
               AND ($3::timestamptz IS NULL OR (u.created_at, u.id) ",
            $comes_after,
            " ($3, $4::uuid))
             ORDER BY u.created_at ",
            $direction,
            ", u.id ",
            $direction,
            "
             LIMIT $5"
        )
    };
}

const AFTER_NEWEST: Statement = Statement { name: "admin.after_newest_first", sql: after!("<", "DESC") };
const AFTER_OLDEST: Statement = Statement { name: "admin.after_oldest_first", sql: after!(">", "ASC") };

/// Returns the users after a cursor: one more than the page size where more exist.
pub async fn list_after(db: &mut Connection, which: UserSelection<'_>, page: CursorPage) -> Result<Vec<User>> {
    let statement = match which.order {
        SortOrder::NewestFirst => &AFTER_NEWEST,
        SortOrder::OldestFirst => &AFTER_OLDEST,
    };
    let (at, id) = (page.after.map(|cursor| cursor.created_at), page.after.map(|cursor| cursor.id));
    let one_more = i64::try_from(page.limit + 1).unwrap_or(i64::MAX);
    let rows: Vec<AccountAloneRow> =
        db.fetch_all(statement, args![which.audience, which.filter, at, id, one_more]).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

/// All statements of this file.
pub const ALL: &[&Statement] = &[&PAGE_NEWEST, &PAGE_OLDEST, &AFTER_NEWEST, &AFTER_OLDEST];
