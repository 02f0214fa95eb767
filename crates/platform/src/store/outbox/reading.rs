//! Read access to the outbox: counts and failing mails.

use foundation::time::Time;
use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::store::Result;
use crate::store::binding::{bind, statements};
use crate::store::statement::Connection;

statements! {
    #[repeatable]
    STATE = "outbox.count_by_state": "
        SELECT count(*) FILTER (WHERE last_error IS NULL) AS waiting,
               count(*) FILTER (WHERE last_error IS NOT NULL) AS retrying,
               min(created_at) AS oldest,
               (SELECT count(*) FROM basalt.outbox WHERE failed_at IS NOT NULL) AS failed,
               (SELECT count(*) FROM basalt.outbox WHERE sent_at > :since) AS sent
        FROM basalt.outbox
        WHERE sent_at IS NULL
          AND failed_at IS NULL";

    #[repeatable]
    TROUBLES = "outbox.list_failing": "
        SELECT id, purpose, created_at, attempts, next_attempt_at, failed_at, last_error
        FROM basalt.outbox
        WHERE sent_at IS NULL
          AND last_error IS NOT NULL
        ORDER BY number DESC
        LIMIT 100";
}

/// Mail counts by delivery state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutboxCounts {
    /// Not attempted yet, or in the first attempt.
    pub waiting: i64,
    /// Attempted without success, to be retried.
    pub retrying: i64,
    /// Failed for good; needs attention.
    pub failed: i64,
    /// Accepted by a mail server, or delivered to the inbox, in the last 24 hours.
    pub sent: i64,
    /// The time of the oldest mail that is neither sent nor given up.
    #[serde(skip)]
    pub oldest: Option<Time>,
}

impl FromRow<'_, PgRow> for OutboxCounts {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            waiting: row.try_get("waiting")?,
            retrying: row.try_get("retrying")?,
            failed: row.try_get("failed")?,
            sent: row.try_get("sent")?,
            oldest: row.try_get("oldest")?,
        })
    }
}

/// Counts the mails by delivery state; of the sent ones, those since `since`.
pub async fn count_by_state(db: &mut Connection, since: Time) -> Result<OutboxCounts> {
    db.fetch_one(bind!(STATE, since)).await
}

/// A failed or failing mail without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailingMail {
    pub id: Uuid,
    pub purpose: String,
    /// The time of writing.
    pub created_at: Time,
    /// The number of started attempts.
    pub attempts: i32,
    /// The time of the next attempt; meaningless for a failed mail.
    pub next_attempt_at: Time,
    /// The time at which the mail was given up.
    pub failed_at: Option<Time>,
    /// The error of the last attempt.
    pub last_error: Option<String>,
}

impl FromRow<'_, PgRow> for FailingMail {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            purpose: row.try_get("purpose")?,
            created_at: row.try_get("created_at")?,
            attempts: row.try_get("attempts")?,
            next_attempt_at: row.try_get("next_attempt_at")?,
            failed_at: row.try_get("failed_at")?,
            last_error: row.try_get("last_error")?,
        })
    }
}

/// Returns the latest hundred unsent mails with an error.
pub async fn list_failing(db: &mut Connection) -> Result<Vec<FailingMail>> {
    db.fetch_all(bind!(TROUBLES)).await
}
