//! `basalt.desk_setup_links`: the link by which a visitor becomes the first owner.
//!
//! Whether there is an owner is evaluated only before a link is used, because it reads all users.

use foundation::time::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};

statements! {
    /// A link that is held by a request, or was made since `:kept_since`, is kept unless a new one is requested.
    INSERT = "desk_setup_links.insert": "
        INSERT INTO basalt.desk_setup_links AS l (token_hash, created_at, expires_at)
        SELECT :token_hash, :now::timestamptz, :expires_at::timestamptz
        WHERE CASE
                  WHEN NOT :is_requested
                       AND EXISTS (SELECT
                                   FROM basalt.desk_setup_links k
                                   WHERE k.used_at IS NOT NULL
                                      OR (k.expires_at > :now
                                          AND (k.created_at >= :kept_since::timestamptz OR k.claimed_until > :now)))
                  THEN false
                  ELSE NOT EXISTS (SELECT
                                   FROM users u
                                   WHERE u.deleted_at IS NULL
                                     AND (u.raw_app_meta_data ->> 'role' = 'owner'
                                          OR u.raw_app_meta_data -> 'roles' @> '[\"owner\"]'::jsonb))
              END
        ON CONFLICT (is_latest) DO UPDATE
        SET token_hash = EXCLUDED.token_hash,
            created_at = EXCLUDED.created_at,
            expires_at = EXCLUDED.expires_at,
            claimed_until = NULL,
            used_at = NULL
        WHERE :is_requested
           OR (l.used_at IS NULL
               AND (l.expires_at <= :now
                    OR (l.created_at < :kept_since AND (l.claimed_until IS NULL OR l.claimed_until <= :now))))";

    #[repeatable]
    IS_OPEN = "desk_setup_links.is_open": "
        SELECT CASE
                   WHEN EXISTS (SELECT FROM basalt.desk_setup_links WHERE used_at IS NULL)
                   THEN NOT EXISTS (SELECT
                                    FROM users u
                                    WHERE u.deleted_at IS NULL
                                      AND (u.raw_app_meta_data ->> 'role' = 'owner'
                                           OR u.raw_app_meta_data -> 'roles' @> '[\"owner\"]'::jsonb))
                   ELSE false
               END";

    /// Of concurrent requests one gets the link.
    CLAIM = "desk_setup_links.claim": "
        WITH found AS (
            SELECT l.is_latest, l.claimed_until IS NULL OR l.claimed_until <= :now AS is_free
            FROM basalt.desk_setup_links l
            WHERE l.token_hash = :token_hash
              AND l.used_at IS NULL
              AND l.expires_at > :now
        ), claimed AS (
            UPDATE basalt.desk_setup_links l
            SET claimed_until = :until
            WHERE l.token_hash = :token_hash
              AND l.used_at IS NULL
              AND l.expires_at > :now
              AND (l.claimed_until IS NULL OR l.claimed_until <= :now)
              AND CASE
                      WHEN EXISTS (SELECT FROM found)
                      THEN NOT EXISTS (SELECT
                                       FROM users u
                                       WHERE u.deleted_at IS NULL
                                         AND (u.raw_app_meta_data ->> 'role' = 'owner'
                                              OR u.raw_app_meta_data -> 'roles' @> '[\"owner\"]'::jsonb))
                      ELSE false
                  END
            RETURNING true AS is_claimed
        )
        SELECT f.is_free, coalesce((SELECT is_claimed FROM claimed), false) AS is_claimed
        FROM found f";

    RELEASE = "desk_setup_links.release": "
        UPDATE basalt.desk_setup_links
        SET claimed_until = NULL
        WHERE token_hash = :token_hash
          AND used_at IS NULL";

    COMPLETE = "desk_setup_links.complete": "
        UPDATE basalt.desk_setup_links
        SET used_at = :now
        WHERE token_hash = :token_hash";

    /// Users are read only if there is an unused link.
    CLOSE = "desk_setup_links.close": "
        UPDATE basalt.desk_setup_links
        SET used_at = :now
        WHERE CASE
                  WHEN used_at IS NULL
                  THEN EXISTS (SELECT
                               FROM users u
                               WHERE u.deleted_at IS NULL
                                 AND (u.raw_app_meta_data ->> 'role' = 'owner'
                                      OR u.raw_app_meta_data -> 'roles' @> '[\"owner\"]'::jsonb))
                  ELSE false
              END";
}

/// The outcome of a request that presents a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The request holds the link.
    Held,
    /// Another request holds it.
    Busy,
    /// The link is unknown, expired or used, or there is an owner.
    Invalid,
}

/// Which earlier links a new one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// All.
    All,
    /// Those made before this time, unless a request holds them.
    MadeBefore(Time),
}

/// Stores a link while there is no owner; `false` if there is one, or an earlier link is kept.
pub(crate) async fn insert(
    db: &mut Connection,
    token_hash: &[u8],
    now: Time,
    expires_at: Time,
    replaced: Replaced,
) -> Result<bool> {
    let (is_requested, kept_since) = match replaced {
        Replaced::All => (true, now),
        Replaced::MadeBefore(time) => (false, time),
    };
    Ok(db.execute(bind!(INSERT, token_hash, now, expires_at, is_requested, kept_since)).await? > 0)
}

/// Whether there is no owner yet, and no link was used.
///
/// Once there is an owner, however made, an unused link is marked as used, so that later calls read no users.
pub(crate) async fn is_setup_open(db: &mut Connection, now: Time) -> Result<bool> {
    let (is_open,): (bool,) = db.fetch_one(bind!(IS_OPEN)).await?;
    if !is_open {
        db.execute(bind!(CLOSE, now)).await?;
    }
    Ok(is_open)
}

/// Claims a link until a time.
pub(crate) async fn claim(db: &mut Connection, token_hash: &[u8], now: Time, until: Time) -> Result<Claim> {
    let found: Option<(bool, bool)> = db.fetch_optional(bind!(CLAIM, token_hash, now, until)).await?;
    Ok(match found {
        Some((_, true)) => Claim::Held,
        Some((false, false)) => Claim::Busy,
        Some((true, false)) | None => Claim::Invalid,
    })
}

/// Ends a claim, so that the link can be used again.
pub(crate) async fn release(db: &mut Connection, token_hash: &[u8]) -> Result<()> {
    db.execute(bind!(RELEASE, token_hash)).await?;
    Ok(())
}

/// Marks the link as used.
pub(crate) async fn complete(db: &mut Connection, token_hash: &[u8], now: Time) -> Result<()> {
    db.execute(bind!(COMPLETE, token_hash, now)).await?;
    Ok(())
}
