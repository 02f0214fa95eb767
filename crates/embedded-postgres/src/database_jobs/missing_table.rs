//! The error of a table that a project has dropped.

/// Returns whether a table does not exist.
pub(super) fn is_missing_table(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).is_some_and(|code| code == "42P01")
}
