//! `basalt.desk_reset_links`: links of the operator by which an owner gets back in; and the end of all sessions of an owner.
//!
//! Statements recognise an owner as `ownership::is_admitted` does.

use foundation::time::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use uuid::Uuid;

statements! {
    /// The latest link of an owner replaces earlier ones.
    INSERT = "desk_reset_links.insert": "
        INSERT INTO basalt.desk_reset_links (user_id, token_hash, created_at, expires_at)
        SELECT u.id, :token_hash, :now, :expires_at
        FROM users u
        WHERE u.email = :email
          AND u.is_sso_user = false
          AND u.deleted_at IS NULL
          AND (u.raw_app_meta_data ->> 'role' = 'owner' OR u.raw_app_meta_data -> 'roles' @> '[\"owner\"]'::jsonb)
        ORDER BY u.created_at
        LIMIT 1
        ON CONFLICT (user_id) DO UPDATE
        SET token_hash = EXCLUDED.token_hash,
            created_at = EXCLUDED.created_at,
            expires_at = EXCLUDED.expires_at,
            used_at = NULL";

    /// Of concurrent requests one uses the link.
    USE = "desk_reset_links.use": "
        UPDATE basalt.desk_reset_links l
        SET used_at = :now
        FROM users u
        WHERE l.token_hash = :token_hash
          AND l.used_at IS NULL
          AND l.expires_at > :now
          AND u.id = l.user_id
          AND u.deleted_at IS NULL
          AND (u.raw_app_meta_data ->> 'role' = 'owner' OR u.raw_app_meta_data -> 'roles' @> '[\"owner\"]'::jsonb)
        RETURNING l.user_id, u.email::text";

    RELEASE = "desk_reset_links.release": "
        UPDATE basalt.desk_reset_links
        SET used_at = NULL
        WHERE token_hash = :token_hash";

    /// Sessions of the desk end with those of the auth API.
    #[proves(SessionsEnded)]
    END_SESSIONS = "desk_reset_links.end_sessions": "
        WITH codes AS (
            DELETE FROM basalt.desk_recovery_codes
            WHERE user_id = :user_id
        )
        DELETE FROM sessions
        WHERE user_id = :user_id";
}

/// Stores the link of an owner; `false` if no owner has the address, which is in lower case.
pub(crate) async fn insert(
    db: &mut Connection,
    email: &str,
    token_hash: &[u8],
    now: Time,
    expires_at: Time,
) -> Result<bool> {
    Ok(db.execute(bind!(INSERT, email, token_hash, now, expires_at)).await? > 0)
}

/// Uses a link up; returns the owner with the address.
pub(crate) async fn record_use(db: &mut Connection, token_hash: &[u8], now: Time) -> Result<Option<(Uuid, String)>> {
    db.fetch_optional(bind!(USE, token_hash, now)).await
}

/// Makes a used link valid again, because what it was used for has failed.
pub(crate) async fn release(db: &mut Connection, token_hash: &[u8]) -> Result<()> {
    db.execute(bind!(RELEASE, token_hash)).await?;
    Ok(())
}

/// Ends all sessions of an owner, and deletes the recovery codes.
pub(crate) async fn end_sessions(db: &mut Connection, user_id: Uuid) -> Result<()> {
    db.execute(bind!(END_SESSIONS, user_id)).await?;
    Ok(())
}
