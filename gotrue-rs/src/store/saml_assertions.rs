//! `basalt.saml_assertions`: assertions that created a session, until they expire (replay protection).

use gotrue_rules::domain::user::Time;

use super::Result;
use super::statement::{Connection, Statement, args};

/// Each insert also deletes a few expired rows.
const CONSUME: Statement = Statement {
    name: "saml_assertions.use_up",
    sql: "WITH gone AS (
              DELETE FROM basalt.saml_assertions
              WHERE digest IN (SELECT a.digest
                               FROM basalt.saml_assertions a
                               WHERE a.ends_at < $3
                                 AND a.digest <> $1
                               ORDER BY a.ends_at
                               LIMIT 20
                               FOR UPDATE SKIP LOCKED)
          )
          INSERT INTO basalt.saml_assertions (digest, ends_at)
          VALUES ($1, $2)
          ON CONFLICT (digest) DO NOTHING",
};

/// Records an assertion as used; false if it was used before.
///
/// Of two concurrent calls the second waits for the first.
pub async fn consume(db: &mut Connection, digest: &[u8], ends_at: Time, now: Time) -> Result<bool> {
    Ok(db.execute(&CONSUME, args![digest, ends_at, now]).await? > 0)
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[&CONSUME];
