//! `basalt.desk_recovery_codes`: codes in place of a lost authenticator app.

use foundation::time::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use serde_json::{Value, json};
use uuid::Uuid;

statements! {
    REPLACE = "desk_recovery_codes.replace": "
        WITH gone AS (
            DELETE FROM basalt.desk_recovery_codes
            WHERE user_id = :user_id
        )
        INSERT INTO basalt.desk_recovery_codes (user_id, code_hash, created_at, is_unconfirmed)
        SELECT :user_id, decode(h.code_hash #>> '{}', 'hex'), :now, true
        FROM jsonb_array_elements(:hashes) AS h (code_hash)";

    /// Of concurrent requests with one code, one uses it.
    USE = "desk_recovery_codes.use": "
        UPDATE basalt.desk_recovery_codes
        SET used_at = :now
        WHERE user_id = :user_id
          AND code_hash = :code_hash
          AND used_at IS NULL";

    RELEASE = "desk_recovery_codes.release": "
        UPDATE basalt.desk_recovery_codes
        SET used_at = NULL
        WHERE user_id = :user_id
          AND code_hash = :code_hash";

    /// Codes that others have replaced since are not confirmed.
    CONFIRM = "desk_recovery_codes.confirm": "
        UPDATE basalt.desk_recovery_codes
        SET is_unconfirmed = false
        WHERE user_id = :user_id
          AND created_at = :made_at";

    #[repeatable]
    COUNT = "desk_recovery_codes.count": "
        SELECT count(*) FILTER (WHERE used_at IS NULL), coalesce(bool_or(is_unconfirmed), false)
        FROM basalt.desk_recovery_codes
        WHERE user_id = :user_id";
}

/// The codes of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecoveryCodes {
    /// How many can be used.
    pub left: i64,
    /// Whether the owner has not said yet that they were kept.
    pub are_unconfirmed: bool,
}

/// Replaces all codes of an owner.
pub(crate) async fn replace(db: &mut Connection, user_id: Uuid, hashes: &[Vec<u8>], now: Time) -> Result<()> {
    let hashes = Value::Array(hashes.iter().map(|hash| json!(hex::encode(hash))).collect());
    db.execute(bind!(REPLACE, user_id, hashes, now)).await?;
    Ok(())
}

/// Uses a code up; `false` if the owner has no such code.
pub(crate) async fn record_use(db: &mut Connection, user_id: Uuid, code_hash: &[u8], now: Time) -> Result<bool> {
    Ok(db.execute(bind!(USE, user_id, code_hash, now)).await? > 0)
}

/// Makes a used code valid again, because what it was used for has failed.
pub(crate) async fn release(db: &mut Connection, user_id: Uuid, code_hash: &[u8]) -> Result<()> {
    db.execute(bind!(RELEASE, user_id, code_hash)).await?;
    Ok(())
}

/// Records that the owner has kept the codes of `made_at`; `false` if there are none from then.
pub(crate) async fn confirm(db: &mut Connection, user_id: Uuid, made_at: Time) -> Result<bool> {
    Ok(db.execute(bind!(CONFIRM, user_id, made_at)).await? > 0)
}

/// Counts the codes of an owner.
pub(crate) async fn count(db: &mut Connection, user_id: Uuid) -> Result<RecoveryCodes> {
    let (left, are_unconfirmed): (i64, bool) = db.fetch_one(bind!(COUNT, user_id)).await?;
    Ok(RecoveryCodes { left, are_unconfirmed })
}
