//! `basalt.exchanged_codes`: authorization codes that were exchanged, each with the session that it opened, so that a
//! replay can end that session.

use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// A code that is exchanged.
#[derive(Debug)]
pub struct ExchangedCode<'a> {
    /// SHA-256 of the code.
    pub digest: &'a [u8],
    /// The client that exchanges it.
    pub client_id: Uuid,
    /// The session that it opens.
    pub session_id: Uuid,
    /// How long it is kept.
    pub ends_at: Time,
    /// The request's moment.
    pub now: Time,
}

/// A few that are kept no longer are deleted with each new one.
const INSERT: Statement = Statement {
    name: "exchanged_codes.insert",
    sql: "WITH gone AS (
              DELETE FROM basalt.exchanged_codes
              WHERE digest IN (SELECT c.digest
                               FROM basalt.exchanged_codes c
                               WHERE c.ends_at < $5
                                 AND c.digest <> $1
                               ORDER BY c.ends_at
                               LIMIT 20
                               FOR UPDATE SKIP LOCKED)
          )
          INSERT INTO basalt.exchanged_codes (digest, client_id, session_id, ends_at)
          VALUES ($1, $2, $3, $4)",
};

/// Records an exchange, in the transaction that opens the session.
pub async fn insert(db: &mut Connection, code: ExchangedCode<'_>) -> Result<()> {
    let values = args![code.digest, code.client_id, code.session_id, code.ends_at, code.now];
    db.execute(&INSERT, values).await?;
    Ok(())
}

const REVOKE: Statement = Statement {
    name: "exchanged_codes.revoke",
    sql: "DELETE FROM sessions
          WHERE id IN (SELECT c.session_id
                       FROM basalt.exchanged_codes c
                       WHERE c.digest = $1
                         AND c.client_id = $2)",
};

/// Deletes the session that this client opened with this code; whether there was one. Its refresh tokens go with it.
pub async fn revoke(db: &mut Connection, digest: &[u8], client_id: Uuid) -> Result<bool> {
    Ok(db.execute(&REVOKE, args![digest, client_id]).await? > 0)
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&INSERT, &REVOKE];
