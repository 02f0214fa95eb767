//! `basalt.saml_assertions`: assertions that created a session, until they expire (replay protection).

use foundation::time::Time;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;

statements! {
    /// Each insert also deletes a few expired rows.
    CONSUME = "saml_assertions.consume":
        "WITH gone AS (
             DELETE FROM basalt.saml_assertions
             WHERE digest IN (SELECT a.digest
                              FROM basalt.saml_assertions a
                              WHERE a.ends_at < :now
                                AND a.digest <> :digest
                              ORDER BY a.ends_at
                              LIMIT 20
                              FOR UPDATE SKIP LOCKED)
         )
         INSERT INTO basalt.saml_assertions (digest, ends_at)
         VALUES (:digest, :ends_at)
         ON CONFLICT (digest) DO NOTHING";
}

/// Records an assertion as used; false if it was used before.
///
/// Of two concurrent calls the second waits for the first.
pub async fn consume(db: &mut Connection, digest: &[u8], ends_at: Time, now: Time) -> Result<bool> {
    Ok(db.execute(bind!(CONSUME, digest, ends_at, now)).await? > 0)
}
