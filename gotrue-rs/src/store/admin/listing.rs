//! Accounts of an audience in pages, by number or by cursor: without identities and factors.

use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::page::{CursorPage, Order, Page};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use crate::store::Result;
use crate::store::rows::{AccountAloneRow, account_alone_columns};
use crate::store::statement::{Connection, Statement, args};

/// Which accounts are listed.
#[derive(Debug, Clone, Copy)]
pub struct Which<'a> {
    /// Those of this audience.
    pub audience: &'a str,
    /// Those with this in the address, or in any letters in the full name; `%` and `_` stand for anything.
    pub filter: &'a str,
    /// Which come first.
    pub order: Order,
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

// The condition stands here twice on purpose: accounts kept once for both the count and the page would be a million
// rows written aside, where the page alone is a walk along an index.
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

/// An account of a page, none where the page is empty, and how many there are on all pages.
struct PageRow {
    total: i64,
    account: Option<Account>,
}

impl FromRow<'_, PgRow> for PageRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let is_there = row.try_get::<Option<uuid::Uuid>, _>("id")?.is_some();
        let account = if is_there { Some(AccountAloneRow::from_row(row)?.0) } else { None };
        Ok(Self { total: row.try_get("total")?, account })
    }
}

/// One page, and how many accounts there are on all pages.
pub async fn page(db: &mut Connection, which: Which<'_>, page: Page) -> Result<(Vec<Account>, u64)> {
    let statement = match which.order {
        Order::NewestFirst => &PAGE_NEWEST,
        Order::OldestFirst => &PAGE_OLDEST,
    };
    let values = args![which.audience, which.filter, page.limit(), page.offset()];
    let rows: Vec<PageRow> = db.all(statement, values).await?;
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

/// The accounts after a cursor, one more than the page holds where there are more.
pub async fn after(db: &mut Connection, which: Which<'_>, page: CursorPage) -> Result<Vec<Account>> {
    let statement = match which.order {
        Order::NewestFirst => &AFTER_NEWEST,
        Order::OldestFirst => &AFTER_OLDEST,
    };
    let (at, id) = (page.after.map(|cursor| cursor.created_at), page.after.map(|cursor| cursor.id));
    let one_more = i64::try_from(page.limit + 1).unwrap_or(i64::MAX);
    let rows: Vec<AccountAloneRow> = db.all(statement, args![which.audience, which.filter, at, id, one_more]).await?;
    Ok(rows.into_iter().map(|row| row.0).collect())
}

/// Every statement of this file.
pub const ALL: &[&Statement] = &[&PAGE_NEWEST, &PAGE_OLDEST, &AFTER_NEWEST, &AFTER_OLDEST];
