//! Sends SQL as text.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Result, Row};

pub(super) async fn fetch(connection: &mut PgConnection, sql: impl Into<String>) -> Result<Vec<PgRow>> {
    sqlx::raw_sql(AssertSqlSafe(sql.into())).fetch_all(connection).await
}

pub(super) async fn fetch_texts(connection: &mut PgConnection, sql: impl Into<String>) -> Result<Vec<String>> {
    fetch(connection, sql).await?.iter().map(|row| row.try_get(0)).collect()
}

pub(super) async fn execute(connection: &mut PgConnection, sql: impl Into<String>) -> Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql.into())).execute(connection).await.map(drop)
}
