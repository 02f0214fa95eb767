//! `basalt.saml_assertions`: assertions that have signed somebody in, for as long as they could do it again.

use gotrue_rules::domain::user::Time;

use super::Result;
use super::statement::{Connection, Statement, args};

/// A few that nobody would accept any more go whenever one comes.
const USE_UP: Statement = Statement {
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

/// Uses an assertion up; false if it has been used before. Of two at once the second waits for what becomes of the first.
pub async fn use_up(db: &mut Connection, digest: &[u8], ends_at: Time, now: Time) -> Result<bool> {
    Ok(db.execute(&USE_UP, args![digest, ends_at, now]).await? > 0)
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&USE_UP];
