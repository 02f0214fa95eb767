//! Views, submissions and sales by day and template.

use chrono::NaiveDate;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

statements! {
    /// Days begin at midnight UTC. Refunded orders are no purchases. Tests have kinds of their own.
    #[repeatable]
    LIST = "figures.list": "
        SELECT 'views' AS kind, v.day::text AS day, v.template, NULL AS title, sum(v.views)::bigint AS count,
               NULL AS currency, 0::bigint AS amount
        FROM basalt.page_views v
        WHERE v.day >= :from::text::date
          AND v.day <= :to::text::date
        GROUP BY v.day, v.template
        UNION ALL
        SELECT 'test_views', v.day::text, v.template, NULL, sum(v.views)::bigint, NULL, 0
        FROM basalt.test_page_views v
        WHERE v.day >= :from::text::date
          AND v.day <= :to::text::date
        GROUP BY v.day, v.template
        UNION ALL
        SELECT 'requests', ((s.created_at AT TIME ZONE 'UTC')::date)::text, coalesce(s.template, 0), NULL, count(*),
               NULL, 0
        FROM basalt.submissions s
        WHERE s.created_at >= (:from::text::date)::timestamp AT TIME ZONE 'UTC'
          AND s.created_at < (:to::text::date + 1)::timestamp AT TIME ZONE 'UTC'
          AND s.status <> 'spam'
        GROUP BY 2, 3
        UNION ALL
        SELECT CASE WHEN o.is_test THEN 'test_purchases' ELSE 'purchases' END,
               ((o.paid_at AT TIME ZONE 'UTC')::date)::text, o.template, max(o.template_title), count(*),
               o.currency, sum(o.amount_minor)::bigint
        FROM basalt.orders o
        WHERE o.paid_at >= (:from::text::date)::timestamp AT TIME ZONE 'UTC'
          AND o.paid_at < (:to::text::date + 1)::timestamp AT TIME ZONE 'UTC'
          AND o.state <> 'refunded'
        GROUP BY 1, 2, 3, o.currency";
}

/// A number of a day and a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FigureRow {
    /// `views`, `requests` or `purchases`, and `test_views` or `test_purchases`.
    pub kind: String,
    /// The day, as `YYYY-MM-DD`.
    pub day: String,
    /// The template's id; 0 for none.
    pub template: i32,
    /// The title at the time of a purchase.
    pub title: Option<String>,
    /// How many.
    pub count: i64,
    /// The currency of purchases.
    pub currency: Option<String>,
    /// What was paid in that currency, in its smallest unit.
    pub amount: i64,
}

impl FromRow<'_, PgRow> for FigureRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            kind: row.try_get("kind")?,
            day: row.try_get("day")?,
            template: row.try_get("template")?,
            title: row.try_get("title")?,
            count: row.try_get("count")?,
            currency: row.try_get("currency")?,
            amount: row.try_get("amount")?,
        })
    }
}

/// Lists the numbers of the days from `from` to `to`, both included.
pub(crate) async fn list(db: &mut Connection, from: NaiveDate, to: NaiveDate) -> Result<Vec<FigureRow>> {
    db.fetch_all(bind!(LIST, from: from.to_string(), to: to.to_string())).await
}
