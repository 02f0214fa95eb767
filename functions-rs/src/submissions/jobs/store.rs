//! Statements of the background jobs.

use foundation::time::Time;
use platform::store::{Connection, Result, Statement};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::functions::send_submission::spam::QUARANTINE_SCORE;
use crate::submissions::records::SubmissionRecord;

statements! {
    BEGIN_DIGEST = "submission_digests.insert": "
        INSERT INTO basalt.submission_digests (day, created_at)
        VALUES ((:midnight::timestamptz AT TIME ZONE 'utc')::date, :now)
        ON CONFLICT (day) DO NOTHING";

    #[repeatable]
    DAY = "submissions.count_day": "
        SELECT count(*) FILTER (WHERE status <> 'spam' OR spam_score < :quarantine_score::integer) AS received,
               count(*) FILTER (WHERE status = 'spam' AND spam_score >= :quarantine_score::integer) AS quarantined,
               (SELECT count(*) FROM basalt.submissions o WHERE o.status = 'new') AS unanswered
        FROM basalt.submissions
        WHERE created_at >= :from::timestamptz
          AND created_at < :until::timestamptz";

    #[repeatable]
    EXPIRED = "submissions.list_expired": "
        SELECT id
        FROM basalt.submissions
        WHERE created_at < :cutoff
        ORDER BY created_at
        LIMIT :limit";

    LEASE = "submission_events.lease": "
        WITH due AS (
            SELECT id
            FROM basalt.submission_events
            WHERE delivered_at IS NULL
              AND failed_at IS NULL
              AND next_attempt_at <= :now
              AND (leased_until IS NULL OR leased_until <= :now)
            ORDER BY next_attempt_at, id
            LIMIT :limit
            FOR UPDATE SKIP LOCKED
        ), leased AS (
            UPDATE basalt.submission_events e
            SET attempts = e.attempts + 1,
                leased_until = :leased_until
            FROM due
            WHERE e.id = due.id
            RETURNING e.id, e.submission, e.attempts, e.created_at
        )
        SELECT l.id AS event, l.attempts, l.created_at AS event_created_at,
               s.id, s.description, s.created_at, s.status, s.template, s.account_email, s.senders, s.spam_score,
               0::bigint AS messages, 0::bigint AS replies, 0::bigint AS waiting, 0::bigint AS failed
        FROM leased l
        JOIN basalt.submissions s ON s.id = l.submission";

    DELIVERED = "submission_events.mark_delivered": "
        UPDATE basalt.submission_events
        SET delivered_at = :now,
            leased_until = NULL,
            last_error = NULL
        WHERE id = :id
          AND delivered_at IS NULL";

    POSTPONE = "submission_events.postpone": "
        UPDATE basalt.submission_events
        SET next_attempt_at = :next_attempt_at,
            failed_at = :failed_at,
            last_error = :error,
            leased_until = NULL
        WHERE id = :id
          AND attempts = :attempts
          AND delivered_at IS NULL";

    #[repeatable]
    NEXT = "submission_events.find_next_attempt": "
        SELECT min(GREATEST(next_attempt_at, leased_until)) AS due
        FROM basalt.submission_events
        WHERE delivered_at IS NULL
          AND failed_at IS NULL";
}

/// What the daily mail to the owner counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayFigures {
    /// Submissions that were not quarantined.
    pub received: i64,
    /// Submissions that were quarantined as spam.
    pub quarantined: i64,
    /// Submissions of any day that are still new.
    pub unanswered: i64,
}

impl FromRow<'_, PgRow> for DayFigures {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            received: row.try_get("received")?,
            quarantined: row.try_get("quarantined")?,
            unanswered: row.try_get("unanswered")?,
        })
    }
}

/// An event that a server delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedEvent {
    /// Its id, the same for every attempt.
    pub id: Uuid,
    /// The number of started attempts with this one; identifies the lease.
    pub attempts: i32,
    /// The time of the event.
    pub created_at: Time,
    /// The submission; its mails are not counted.
    pub submission: SubmissionRecord,
}

impl FromRow<'_, PgRow> for LeasedEvent {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("event")?,
            attempts: row.try_get("attempts")?,
            created_at: row.try_get("event_created_at")?,
            submission: SubmissionRecord::from_row(row)?,
        })
    }
}

/// Records that the digest of the day from `midnight` on is written; returns whether it was not before.
pub async fn begin_digest(db: &mut Connection, midnight: Time, now: Time) -> Result<bool> {
    Ok(db.execute(bind!(BEGIN_DIGEST, midnight, now)).await? > 0)
}

/// Counts the submissions from `from` until `until`.
pub async fn count_day(db: &mut Connection, from: Time, until: Time) -> Result<DayFigures> {
    db.fetch_one(bind!(DAY, quarantine_score: i32::from(QUARANTINE_SCORE), from, until)).await
}

/// Returns at most `limit` submissions from before `cutoff`.
pub async fn list_expired(db: &mut Connection, cutoff: Time, limit: i64) -> Result<Vec<Uuid>> {
    let rows: Vec<(Uuid,)> = db.fetch_all(bind!(EXPIRED, cutoff, limit)).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Leases at most `limit` due events until `leased_until`.
pub async fn lease(db: &mut Connection, now: Time, leased_until: Time, limit: i64) -> Result<Vec<LeasedEvent>> {
    db.fetch_all(bind!(LEASE, now, leased_until, limit)).await
}

/// Marks an event as delivered, whichever server holds it.
pub async fn mark_delivered(db: &mut Connection, id: Uuid, now: Time) -> Result<()> {
    db.execute(bind!(DELIVERED, id, now)).await.map(drop)
}

/// Schedules the next attempt, or gives up with `failed_at`, unless another server holds the event.
pub async fn postpone(
    db: &mut Connection,
    event: &LeasedEvent,
    next_attempt_at: Time,
    failed_at: Option<Time>,
    error: &str,
) -> Result<()> {
    let (id, attempts) = (event.id, event.attempts);
    db.execute(bind!(POSTPONE, id, attempts, next_attempt_at, failed_at, error)).await.map(drop)
}

/// Returns the time of the next attempt, if an event waits.
pub async fn find_next_attempt(db: &mut Connection) -> Result<Option<Time>> {
    db.fetch_one::<(Option<Time>,)>(bind!(NEXT)).await.map(|(due,)| due)
}

/// Returns all statements of this module, for the test that prepares them.
pub fn list_statements() -> Vec<&'static Statement> {
    STATEMENTS.list()
}
