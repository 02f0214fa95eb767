//! `basalt.exchanged_codes`: exchanged authorization codes, each with the session that it created.
//!
//! A replayed code ends that session (RFC 6749 §4.1.2).

use foundation::time::Time;
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

statements! {
    /// Each insert also deletes a few expired rows.
    INSERT = "exchanged_codes.insert":
        "WITH gone AS (
             DELETE FROM basalt.exchanged_codes
             WHERE digest IN (SELECT c.digest
                              FROM basalt.exchanged_codes c
                              WHERE c.ends_at < :now
                                AND c.digest <> :digest
                              ORDER BY c.ends_at
                              LIMIT 20
                              FOR UPDATE SKIP LOCKED)
         )
         INSERT INTO basalt.exchanged_codes (digest, client_id, session_id, ends_at)
         VALUES (:digest, :client_id, :session_id, :ends_at)";

    #[proves(SessionsEnded)]
    REVOKE = "exchanged_codes.revoke":
        "DELETE FROM sessions
         WHERE id IN (SELECT c.session_id
                      FROM basalt.exchanged_codes c
                      WHERE c.digest = :digest
                        AND c.client_id = :client_id)
         RETURNING id";
}

/// An authorization code that was used, so that its second use is recognised.
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

/// Records an exchange, in the transaction that creates the session.
pub async fn insert(db: &mut Connection, code: ExchangedCode<'_>) -> Result<()> {
    let bound = bind!(
        INSERT,
        digest: code.digest,
        client_id: code.client_id,
        session_id: code.session_id,
        ends_at: code.ends_at,
        now: code.now,
    );
    db.execute(bound).await?;
    Ok(())
}

/// Deletes the session, with its refresh tokens, that this client created with this code.
///
/// False if none.
pub async fn delete_session(db: &mut Connection, digest: &[u8], client_id: Uuid) -> Result<bool> {
    let ended: Vec<(Uuid,)> = db.fetch_all(bind!(REVOKE, digest, client_id)).await?;
    for (id,) in &ended {
        db.note(FactCondition::Now, || Fact::SessionsEnded(EndedSessions::only(*id)));
    }
    Ok(!ended.is_empty())
}
