//! The schema `storage`: the files of `sql/storage`.

use postgrest_rs::execute::error_chain;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::Database;

/// The files in their order.
const FILES: [&str; 9] = include!("../../../sql/storage/files.rs");

/// Finds a schema that another role owns: who made it keeps it current.
const FOREIGN: &str = "SELECT 1 FROM pg_namespace \
    WHERE nspname = 'storage' AND to_regclass('storage.objects') IS NOT NULL AND NOT pg_has_role(nspowner, 'USAGE')";

/// Creates the schema, or brings the functions of one that this server created up to date. One that Supabase Storage created
/// is left as it is. Servers that start at the same time wait for one another.
///
/// # Errors
/// The database is not reached, or refuses a statement.
pub async fn create(database: &Database) -> Result<(), String> {
    let client = database.pool().connect().await.map_err(|error| error_chain(&*error))?;
    create_with(&client).await
}

async fn create_with(client: &Client) -> Result<(), String> {
    // Nothing is prepared: behind a pooler the next statement may reach another session.
    let foreign = client.query_typed(FOREIGN, &[]).await.map_err(|error| error_chain(&error))?;
    if !foreign.is_empty() {
        return Ok(());
    }
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('basalt.storage.schema', 0))";
    let script = format!("BEGIN; SET LOCAL client_min_messages = warning; {lock}; {} COMMIT;", FILES.concat());
    match client.batch_execute(&script).await {
        Err(error) if error.code() == Some(&SqlState::DUPLICATE_SCHEMA) => Ok(()),
        outcome => outcome.map_err(|error| error_chain(&error)),
    }
}
