//! `basalt.page_views`: requests of pages by day; `basalt.test_page_views`: those of a shop in development.

use chrono::NaiveDate;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use serde_json::{Value, json};

statements! {
    /// Rows are locked in the order of the key, so that two servers do not wait for each other.
    ADD = "page_views.add": "
        INSERT INTO basalt.page_views AS v (day, page, template, views)
        SELECT c.day, c.page, c.template, c.views
        FROM jsonb_to_recordset(:counted) AS c (day date, page text, template integer, views bigint)
        ORDER BY c.day, c.page, c.template
        ON CONFLICT (day, page, template) DO UPDATE
        SET views = v.views + EXCLUDED.views";

    ADD_TESTS = "page_views.add_tests": "
        INSERT INTO basalt.test_page_views AS v (day, page, template, views)
        SELECT c.day, c.page, c.template, c.views
        FROM jsonb_to_recordset(:counted) AS c (day date, page text, template integer, views bigint)
        ORDER BY c.day, c.page, c.template
        ON CONFLICT (day, page, template) DO UPDATE
        SET views = v.views + EXCLUDED.views";
}

/// Requests of a page on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedViews {
    pub day: NaiveDate,
    pub page: &'static str,
    pub template: u16,
    /// How many are added.
    pub views: i64,
}

/// Adds counts, with `are_tests` those of a shop in development.
pub(crate) async fn add(db: &mut Connection, counted: &[CountedViews], are_tests: bool) -> Result<()> {
    let rows = counted.iter().map(
        |row| json!({ "day": row.day.to_string(), "page": row.page, "template": row.template, "views": row.views }),
    );
    let counted = Value::Array(rows.collect());
    let bound = if are_tests { bind!(ADD_TESTS, counted) } else { bind!(ADD, counted) };
    db.execute(bound).await?;
    Ok(())
}
