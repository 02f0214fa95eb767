//! `basalt.desk_devices`: browsers from which an owner has signed in.

use foundation::time::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use uuid::Uuid;

statements! {
    INSERT = "desk_devices.insert": "
        INSERT INTO basalt.desk_devices (token_hash, user_id, created_at, last_used_at, attempts, attempts_since)
        VALUES (:token_hash, :user_id, :now, :now, 0, :now)";

    REFRESH = "desk_devices.refresh": "
        UPDATE basalt.desk_devices
        SET last_used_at = :now, attempts = 0, attempts_since = :now
        WHERE token_hash = :token_hash
          AND user_id = :user_id
          AND last_used_at > :known_since";

    #[repeatable]
    FIND_USER = "desk_devices.find_user": "
        SELECT user_id
        FROM basalt.desk_devices
        WHERE token_hash = :token_hash
          AND last_used_at > :known_since";

    /// Counts an attempt, and returns how many there were in the window.
    RECORD_ATTEMPT = "desk_devices.record_attempt": "
        UPDATE basalt.desk_devices
        SET attempts = CASE WHEN attempts_since > :since THEN attempts + 1 ELSE 1 END,
            attempts_since = CASE WHEN attempts_since > :since THEN attempts_since ELSE :now END
        WHERE token_hash = :token_hash
          AND user_id = :user_id
        RETURNING attempts";

    DELETE_OF_USER = "desk_devices.delete_of_user": "
        DELETE FROM basalt.desk_devices
        WHERE user_id = :user_id";

    DELETE_UNUSED = "desk_devices.delete_unused": "
        DELETE FROM basalt.desk_devices
        WHERE last_used_at < :before";
}

/// Stores a device.
pub(crate) async fn insert(db: &mut Connection, token_hash: &[u8], user_id: Uuid, now: Time) -> Result<()> {
    db.execute(bind!(INSERT, token_hash, user_id, now)).await?;
    Ok(())
}

/// Records a sign-in from a device; `false` if it is none of the user's.
pub(crate) async fn refresh(
    db: &mut Connection,
    token_hash: &[u8],
    user_id: Uuid,
    known_since: Time,
    now: Time,
) -> Result<bool> {
    Ok(db.execute(bind!(REFRESH, token_hash, user_id, known_since, now)).await? > 0)
}

/// Finds the user who has signed in from a device since a time.
pub(crate) async fn find_user(db: &mut Connection, token_hash: &[u8], known_since: Time) -> Result<Option<Uuid>> {
    let found: Option<(Uuid,)> = db.fetch_optional(bind!(FIND_USER, token_hash, known_since)).await?;
    Ok(found.map(|(user_id,)| user_id))
}

/// Counts an attempt at a code; returns how many there were since a time, with this one. `None` if the device is gone.
pub(crate) async fn record_attempt(
    db: &mut Connection,
    token_hash: &[u8],
    user_id: Uuid,
    since: Time,
    now: Time,
) -> Result<Option<i32>> {
    let counted: Option<(i32,)> = db.fetch_optional(bind!(RECORD_ATTEMPT, token_hash, user_id, since, now)).await?;
    Ok(counted.map(|(attempts,)| attempts))
}

/// Deletes the devices of a user.
pub(crate) async fn delete_of_user(db: &mut Connection, user_id: Uuid) -> Result<()> {
    db.execute(bind!(DELETE_OF_USER, user_id)).await?;
    Ok(())
}

/// Deletes the devices without a sign-in since a time.
pub(crate) async fn delete_unused(db: &mut Connection, before: Time) -> Result<()> {
    db.execute(bind!(DELETE_UNUSED, before)).await?;
    Ok(())
}
