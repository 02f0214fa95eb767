//! Hooks that are functions of the database. They are given JSON and give JSON, in the types that they declare.

use super::error::HOOK;
use super::statement::{Connection, Statement, args};
use super::{Error, Result};

/// The transaction that a function runs in.
#[derive(Debug)]
pub enum Within<'a> {
    /// The one that is open: what the function writes goes with it. At most two seconds.
    This(&'a mut Connection),
    /// One of its own, on a new connection. At most two seconds.
    Own(Connection),
    /// None: the function stands alone, and the request's deadline alone limits it.
    None(&'a mut Connection),
}

/// A function that takes one argument.
#[derive(Debug, Clone, Copy)]
pub struct Function<'a> {
    /// Its schema.
    pub schema: &'a str,
    /// Its name.
    pub name: &'a str,
}

const LIMIT_TIME: Statement = Statement { name: "hooks.limit_time", sql: "SET LOCAL statement_timeout TO 2000" };
const UNLIMIT_TIME: Statement = Statement { name: "hooks.unlimit_time", sql: "SET LOCAL statement_timeout TO DEFAULT" };

/// Calls the function with this JSON text: its output, or `None` where it returns null or nothing.
pub async fn call(within: Within<'_>, function: Function<'_>, event: &str) -> Result<Option<String>> {
    match within {
        Within::This(db) => limited(db, function, event).await,
        Within::Own(mut db) => {
            let output = limited(&mut db, function, event).await?;
            db.commit().await?;
            Ok(output)
        }
        Within::None(db) => once(db, function, event).await,
    }
}

async fn limited(db: &mut Connection, function: Function<'_>, event: &str) -> Result<Option<String>> {
    db.execute(&LIMIT_TIME, args![]).await?;
    let output = once(db, function, event).await?;
    db.execute(&UNLIMIT_TIME, args![]).await?;
    Ok(output)
}

async fn once(db: &mut Connection, function: Function<'_>, event: &str) -> Result<Option<String>> {
    let sql = format!("SELECT {}.{}({})", identifier(function.schema), identifier(function.name), literal(event));
    let row = db.untyped(HOOK, sql).await?;
    let output = row.ok_or_else(|| Error::in_statement(HOOK, sqlx::Error::RowNotFound))?;
    Ok(output.filter(|output| !output.is_empty()))
}

/// A name between quotes.
fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as a constant of no type yet, so that the function's own declaration gives it one: `json`, `jsonb`, `text`.
/// A parameter could not, because it travels in a form that depends on its type. Backslashes are doubled and understood,
/// whatever `standard_conforming_strings` says.
fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Every statement for hooks but the call itself, whose function the operator names.
pub const ALL: &[&Statement] = &[&LIMIT_TIME, &UNLIMIT_TIME];
