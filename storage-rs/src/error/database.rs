//! What errors of PostgreSQL mean to clients.

use postgrest_rs::service::dependencies::StatementFailure;
use tokio_postgres::error::{DbError, SqlState};

use super::{Code, Error};

/// The text of every violated policy: it does not say which one, or of which table.
const POLICY_VIOLATION: &str = "new row violates row-level security policy";

/// The error of a statement as clients see it.
pub fn translate(error: &tokio_postgres::Error) -> Error {
    if let Some(error) = error.as_db_error() {
        return translate_code(error);
    }
    Error { may_have_happened: true, ..timed_out() }.because(postgrest_rs::execute::error_chain(error))
}

impl Error {
    /// Whether the database lacks a function.
    pub(crate) fn is_undefined_function(&self) -> bool {
        self.cause.as_deref().is_some_and(|cause| cause.starts_with(SqlState::UNDEFINED_FUNCTION.code()))
    }
}

/// The error of a statement that a test lets fail: it was not sent.
pub(crate) fn of_fault(failure: StatementFailure) -> Error {
    let outcome = match failure {
        StatementFailure::Serialization => database_error(&SqlState::T_R_SERIALIZATION_FAILURE),
        StatementFailure::ReadOnly => read_only(),
        StatementFailure::LostConnection => timed_out(),
    };
    outcome.because("an injected fault")
}

fn timed_out() -> Error {
    Error::new(Code::DatabaseTimeout, 544, "The connection to the database timed out")
}

fn read_only() -> Error {
    let message = "The database is currently in read-only mode. Please try again later.";
    Error::new(Code::DatabaseReadOnly, 503, message)
}

fn database_error(code: &SqlState) -> Error {
    Error::new(Code::DatabaseError, 500, format!("database error, code: {}", code.code()))
}

fn translate_code(error: &DbError) -> Error {
    let code = error.code();
    let outcome = if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        let is_policy = error.message().contains("row-level security");
        Error::access_denied(if is_policy { POLICY_VIOLATION.to_owned() } else { error.message().to_owned() })
    } else if *code == SqlState::UNIQUE_VIOLATION {
        Error { code: Code::ResourceAlreadyExists, resource: None, ..Error::key_exists("") }
    } else if *code == SqlState::FOREIGN_KEY_VIOLATION {
        foreign_key(error)
    } else if *code == SqlState::LOCK_NOT_AVAILABLE {
        Error::resource_locked()
    } else if *code == SqlState::QUERY_CANCELED {
        timed_out()
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        read_only()
    } else if *code == SqlState::INVALID_OBJECT_DEFINITION {
        let message = "The database schema is invalid or incompatible.";
        Error::new(Code::DatabaseInvalidObjectDefinition, 503, message)
    } else if *code == SqlState::INVALID_TEXT_REPRESENTATION {
        Error::new(Code::InvalidParameter, 400, error.message().to_owned())
    } else if *code == SqlState::UNDEFINED_COLUMN || *code == SqlState::UNDEFINED_TABLE {
        let message = "The database schema is out of sync. Please run migrations or contact support.";
        Error::new(Code::DatabaseSchemaMismatch, 503, message)
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        Error::slow_down()
    } else {
        database_error(code)
    };
    outcome.because(format!("{}: {}", code.code(), error.message()))
}

fn foreign_key(error: &DbError) -> Error {
    if !error.detail().is_some_and(|detail| detail.contains("is still referenced from table")) {
        return Error::related_not_found();
    }
    let constraint = error.constraint().unwrap_or_default();
    let message = if constraint.starts_with("s3_multipart_uploads") && constraint.ends_with("_bucket_id_fkey") {
        "The bucket could not be updated because it is referenced by a pending multipart upload."
    } else {
        "The resource could not be updated or removed due to a foreign key constraint"
    };
    Error::new(Code::ResourceReferenced, 409, message)
}
