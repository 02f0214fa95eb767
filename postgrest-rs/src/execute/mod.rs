//! Running statements: a pool of connections, and one flight of messages per transaction.

mod channel;
pub mod connect;
pub mod flight;
pub mod pool;
pub mod prepared;
pub mod settings;
pub mod spool;
pub mod tls;

use crate::error::Error;
use crate::error::database::DatabaseError;

/// The error of a statement as clients see it.
pub fn statement_error(error: &tokio_postgres::Error, is_authenticated: bool) -> Error {
    match error.as_db_error() {
        Some(database) => Error::from_database(
            &DatabaseError {
                code: database.code().code(),
                message: database.message(),
                detail: database.detail(),
                hint: database.hint(),
            },
            is_authenticated,
        ),
        None => Error::connection_lost(error_chain(error)),
    }
}

/// The error with its causes.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
