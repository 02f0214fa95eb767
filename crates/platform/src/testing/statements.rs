//! Checks of declared statements, for the tests of each crate that declares some.

use std::collections::BTreeSet;

use sqlx::error::DatabaseError;
use sqlx::{AssertSqlSafe, Executor, PgConnection, SqlSafeStr};

use crate::journal::FactKind;
use crate::store::{self, Statement};

/// What statements contain that prove facts.
const PROOFS: [(FactKind, &str); 4] = [
    (FactKind::Audit, "INSERT INTO audit_log_entries"),
    (FactKind::Message, "INSERT INTO basalt.outbox"),
    (FactKind::SecretIssued, "INSERT INTO one_time_tokens"),
    (FactKind::SessionsEnded, "DELETE FROM sessions"),
];

/// Compares statements with the schema of a database, and their attributes with what they do; returns the differences.
///
/// What is `#[repeatable]` runs in a read-only transaction, or would but for its row locks, and calls no volatile function.
/// What proves a fact writes or deletes its row. Mails are queued with the columns of `outbox.insert`.
pub async fn check_statements(
    connection: &mut PgConnection,
    statements: impl IntoIterator<Item = &Statement>,
) -> Vec<String> {
    let mut differences = Vec::new();
    for statement in statements {
        if let Err(difference) = check_statement(connection, statement).await {
            differences.push(format!("{}: {difference}", statement.name()));
        }
    }
    differences
}

async fn check_statement(connection: &mut PgConnection, statement: &Statement) -> Result<(), String> {
    let describe = |error: sqlx::Error| error.to_string();
    connection.prepare(statement.sql().into_sql_str()).await.map_err(describe)?;
    for (kind, text) in PROOFS {
        if statement.sql().contains(text) != statement.proves().contains(&kind) {
            return Err(format!(
                "proves {:?}, and either lacks {kind:?} or does not contain {text}",
                statement.proves()
            ));
        }
    }
    check_queued_mails(statement)?;
    if statement.is_repeatable() {
        let volatile = list_volatile_functions(connection, statement).await.map_err(describe)?;
        if !volatile.is_empty() {
            return Err(format!("is #[repeatable] but calls {}", volatile.join(", ")));
        }
        run_read_only(connection, statement).await.map_err(describe)?;
    }
    Ok(())
}

/// Compares a statement that inserts encoded mails with the one whose parameter is encoded.
fn check_queued_mails(statement: &Statement) -> Result<(), String> {
    let sql = without_spaces(statement.sql());
    if !sql.contains("INSERTINTObasalt.outbox") || !sql.contains("jsonb_to_recordset(") {
        return Ok(());
    }
    let insert = store::list_statements().find(|one| one.name() == "outbox.insert").map(Statement::sql);
    let parts = insert.and_then(|insert| insert.split_once("jsonb_to_recordset($1)")).expect("it has a parameter");
    match [parts.0, parts.1].into_iter().find(|part| !sql.contains(&without_spaces(part))) {
        Some(part) => Err(format!("queues mails without {part}")),
        None => Ok(()),
    }
}

/// Returns the names of the volatile functions that a statement calls. The clock is volatile without an effect.
async fn list_volatile_functions(connection: &mut PgConnection, statement: &Statement) -> sqlx::Result<Vec<String>> {
    let sql = statement.sql().to_lowercase();
    let is_separator = |character: char| character != '_' && !character.is_alphanumeric();
    let called: BTreeSet<&str> =
        sql.match_indices('(').filter_map(|(at, _)| sql[..at].rsplit(is_separator).next()).collect();
    let called: Vec<&str> = called.into_iter().collect();
    sqlx::query_scalar(
        "SELECT DISTINCT proname::text
         FROM pg_catalog.pg_proc
         WHERE proname = ANY ($1)
           AND provolatile = 'v'
           AND proname <> 'clock_timestamp'",
    )
    .bind(called)
    .fetch_all(connection)
    .await
}

/// Executes a statement with NULL for each parameter. Only its row locks may be refused.
async fn run_read_only(connection: &mut PgConnection, statement: &Statement) -> sqlx::Result<()> {
    let values = vec!["NULL"; statement.parameters().len()].join(", ");
    let values = if values.is_empty() { values } else { format!("({values})") };
    connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("PREPARE checked AS {}", statement.sql())))).await?;
    connection.execute("BEGIN READ ONLY").await?;
    let executed = connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("EXECUTE checked {values}")))).await;
    connection.execute("ROLLBACK").await?;
    connection.execute("DEALLOCATE checked").await?;
    match executed {
        Err(error) if error.as_database_error().is_some_and(is_refused_row_lock) => Ok(()),
        executed => executed.map(|_| ()),
    }
}

fn is_refused_row_lock(error: &dyn DatabaseError) -> bool {
    error.message().starts_with("cannot execute SELECT FOR ")
}

/// Asserts that the statements that contain `marker` also contain `part`, which several repeat.
///
/// Parameters have their names, and white space does not matter.
///
/// # Panics
/// One lacks the part, or fewer than two have the marker.
#[track_caller]
pub fn assert_part_is_repeated(statements: impl IntoIterator<Item = &'static Statement>, marker: &str, part: &str) {
    let (marker, part) = (without_spaces(marker), without_spaces(part));
    let texts = statements.into_iter().map(|statement| (statement.name(), without_spaces(&named_sql(statement))));
    let found: Vec<(&str, String)> = texts.filter(|(_, sql)| sql.contains(&marker)).collect();
    let deviating: Vec<&str> = found.iter().filter(|(_, sql)| !sql.contains(&part)).map(|(name, _)| *name).collect();
    assert_eq!(deviating, [""; 0], "lack {part}");
    assert!(found.len() > 1, "only {found:?} contains {marker}");
}

/// Returns the text of a statement with the names of its parameters.
pub fn named_sql(statement: &Statement) -> String {
    let numbered = statement.parameters().iter().enumerate().rev();
    numbered.fold(statement.sql().to_owned(), |sql, (index, name)| {
        sql.replace(&format!("${}", index + 1), &format!(":{name}"))
    })
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}
