//! `basalt.exchanged_codes`: exchanged authorization codes, each with the session that it created.
//!
//! A replayed code ends that session (RFC 6749 §4.1.2).

use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

/// An exchanged code.
#[derive(Debug)]
pub struct ExchangedCode<'a> {
    /// SHA-256 of the code.
    pub digest: &'a [u8],
    /// The client that exchanges it.
    pub client_id: Uuid,
    /// The session that it creates.
    pub session_id: Uuid,
    /// When the row may be deleted.
    pub ends_at: Time,
    /// The time of the request.
    pub now: Time,
}

/// Each insert also deletes a few expired rows.
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

/// Records an exchange, in the transaction that creates the session.
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

/// Deletes the session, with its refresh tokens, that this client created with this code.
///
/// False if none.
pub async fn delete_session(db: &mut Connection, digest: &[u8], client_id: Uuid) -> Result<bool> {
    Ok(db.execute(&REVOKE, args![digest, client_id]).await? > 0)
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[&INSERT, &REVOKE];
