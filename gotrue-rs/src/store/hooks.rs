//! Hooks that are Postgres functions. They take and return JSON, in the types that they declare.

use std::time::Duration;

use platform::store::binding::{bind, statements};
use platform::store::error::HOOK_CALL;
use platform::store::quoting::{quote_identifier, quote_literal};
use platform::store::statement::{Connection, UntypedRow};
use platform::store::{Error, Result};

/// How long a function may take in a transaction, as in `LIMIT_TIME`.
pub const FUNCTION_TIMEOUT: Duration = Duration::from_secs(2);

statements! {
    LIMIT_TIME = "hooks.limit_time": "SET LOCAL statement_timeout TO 2000";

    UNLIMIT_TIME = "hooks.unlimit_time": "SET LOCAL statement_timeout TO DEFAULT";
}

/// The transaction that a function runs in.
#[derive(Debug)]
pub enum HookTransaction<'a> {
    /// The open transaction: the function's writes are committed with it. Limited to two seconds.
    Current(&'a mut Connection),
    /// A transaction of its own, on a new connection. Limited to two seconds.
    Separate(Connection),
    /// No transaction: only the request's deadline limits the call.
    None(&'a mut Connection),
}

impl HookTransaction<'_> {
    /// Returns how long the function may take; `None` if only the request's deadline limits it.
    pub fn time_limit(&self) -> Option<Duration> {
        match self {
            Self::Current(_) | Self::Separate(_) => Some(FUNCTION_TIMEOUT),
            Self::None(_) => None,
        }
    }
}

/// A function of one argument.
#[derive(Debug, Clone, Copy)]
pub struct HookFunction<'a> {
    /// Its schema.
    pub schema: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// Calls the function with this JSON text; `None` if it returns null or no row.
pub async fn call(within: HookTransaction<'_>, function: HookFunction<'_>, event: &str) -> Result<Option<String>> {
    match within {
        HookTransaction::Current(db) => call_with_time_limit(db, function, event).await,
        HookTransaction::Separate(mut db) => {
            let output = call_with_time_limit(&mut db, function, event).await?;
            db.commit().await?;
            Ok(output)
        }
        HookTransaction::None(db) => call_once(db, function, event).await,
    }
}

async fn call_with_time_limit(db: &mut Connection, function: HookFunction<'_>, event: &str) -> Result<Option<String>> {
    db.execute(bind!(LIMIT_TIME)).await?;
    let output = call_once(db, function, event).await?;
    db.execute_reset(bind!(UNLIMIT_TIME)).await?;
    Ok(output)
}

async fn call_once(db: &mut Connection, function: HookFunction<'_>, event: &str) -> Result<Option<String>> {
    let sql = format!(
        "SELECT {}.{}({})",
        quote_identifier(function.schema),
        quote_identifier(function.name),
        quote_literal(event)
    );
    let row = db.fetch_untyped(HOOK_CALL, sql).await?;
    match row {
        UntypedRow::Text(output) => Ok(Some(output).filter(|output| !output.is_empty())),
        UntypedRow::Null => Ok(None),
        UntypedRow::Missing => Err(Error::in_statement(HOOK_CALL, sqlx::Error::RowNotFound)),
    }
}
