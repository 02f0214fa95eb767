//! The tracing span of a statement: name, number of rows and kind of failure; never its text or values.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::postgres::PgQueryResult;
use telemetry::catalog::{STATEMENT_DURATION, STATEMENTS};
use telemetry::metrics;
use tracing::Span;
use tracing::field::Empty;

use crate::journal::TracedStatement;

/// The log target of statements (level debug).
pub const SQL_LOG: &str = "sql";

/// Creates the span of a statement; it is disabled unless [`SQL_LOG`] has level debug.
pub(super) fn statement_span(name: &'static str) -> Span {
    tracing::debug_span!(
        target: SQL_LOG,
        "statement",
        db.system.name = "postgresql",
        db.query.summary = name,
        db.response.returned_rows = Empty,
        db.response.affected_rows = Empty,
        error.type = Empty,
    )
}

/// The number of rows of a result.
pub(super) trait RowCount {
    /// The span field that holds the number.
    const FIELD: &'static str;

    /// Returns the number of rows.
    fn row_count(&self) -> u64;
}

impl<R> RowCount for Vec<R> {
    const FIELD: &'static str = "db.response.returned_rows";

    fn row_count(&self) -> u64 {
        self.len() as u64
    }
}

impl RowCount for PgQueryResult {
    const FIELD: &'static str = "db.response.affected_rows";

    fn row_count(&self) -> u64 {
        self.rows_affected()
    }
}

/// Records the number of rows, or the SQLSTATE or kind of the failure.
pub(super) fn record_outcome<T: RowCount>(span: &Span, outcome: &sqlx::Result<T>) {
    if span.is_disabled() {
        return;
    }
    match outcome {
        Ok(rows) => span.record(T::FIELD, rows.row_count()),
        Err(error) => span.record("error.type", &*error_type(error)),
    };
}

/// Counts a statement by its outcome.
pub(super) fn count_statement<T>(name: &'static str, outcome: &sqlx::Result<T>, duration: Duration) {
    if metrics::is_enabled() {
        let error = outcome.as_ref().err().map(error_type);
        STATEMENTS.increment(&[name, error.as_deref().unwrap_or("ok")]);
        STATEMENT_DURATION.record(&[name], duration);
    }
}

/// Describes a statement that returned, for the trace of its request.
pub(super) fn trace_statement<T: RowCount>(
    name: &'static str,
    outcome: &sqlx::Result<T>,
    duration: Duration,
) -> TracedStatement {
    let error = outcome.as_ref().err().map(|error| error_type(error).into_owned());
    TracedStatement { name, rows: outcome.as_ref().ok().map(RowCount::row_count), duration, error }
}

fn error_type(error: &sqlx::Error) -> Cow<'_, str> {
    match error {
        sqlx::Error::Database(error) => error.code().unwrap_or(Cow::Borrowed("database")),
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => Cow::Borrowed("timeout"),
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => Cow::Borrowed("connection"),
        _ => Cow::Borrowed("client"),
    }
}
