//! The one home of SQL: a file per table, a function per statement. Times come in as values, never from `now()`.

pub mod error;
pub mod migrate;
pub mod rows;
pub mod statement;
pub mod users;

pub use error::{Error, OrRefuse, Result};
pub use statement::{Connection, Statement};

/// Every statement there is, for the test that prepares each against the schema.
pub fn statements() -> impl Iterator<Item = &'static Statement> {
    [users::ALL].into_iter().flatten().copied()
}
