//! A rejection by the database, as a test environment injects it.

use std::borrow::Cow;
use std::error::Error;

use sqlx::error::{DatabaseError, ErrorKind};

/// A database error with a given SQLSTATE.
#[derive(Debug, thiserror::Error)]
#[error("injected fault with the SQLSTATE {sqlstate}")]
pub(super) struct InjectedRejection {
    pub(super) sqlstate: &'static str,
}

impl DatabaseError for InjectedRejection {
    fn message(&self) -> &'static str {
        "injected fault"
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.sqlstate))
    }

    fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}
