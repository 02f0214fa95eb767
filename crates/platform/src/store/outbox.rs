//! `basalt.outbox`: queued mails, and those delivered to the development inbox.
//!
//! Several workers can lease rows concurrently. A row stays until it is marked as sent, so that none is lost when a
//! worker dies.

mod inbox;
mod reading;

use std::sync::Arc;

use foundation::time::Time;
use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};
use uuid::Uuid;

pub use self::inbox::{
    InboxMail, InboxQuery, MailState, MessageFilter, MessageRange, NewMessage, delete_messages, delete_surplus_mails,
    find_inbox_mail, find_last_number, find_number, find_raw, insert_message, list_inbox, list_mail_states,
    list_messages, mark_read,
};
pub use self::reading::{FailingMail, OutboxCounts, count_by_state, list_failing};
use super::Result;
use super::binding::{bind, statements};
use super::pool::Pool;
use super::statement::Connection;

statements! {
    modules: inbox, reading;

    /// Other statements contain it, so that a mail is queued with what it reports.
    #[proves(Message)]
    INSERT = "outbox.insert": "
        INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id,
                                   created_at, attempts, next_attempt_at, give_up_at, sent_at, sent_to)
        SELECT m.id, m.purpose, m.recipient, m.subject, m.html, m.text, m.headers, m.code, m.link, m.message_id,
               m.created_at, 0, m.created_at, m.give_up_at, m.sent_at, m.sent_to
        FROM jsonb_to_recordset(:mails) AS m (
            id uuid, purpose text, recipient text, subject text, html text, text text, headers jsonb, code text,
            link text, message_id text, created_at timestamptz, give_up_at timestamptz, sent_at timestamptz,
            sent_to text
        )";

    LEASE = "outbox.lease": "
        UPDATE basalt.outbox o
        SET attempts = o.attempts + 1,
            leased_until = :leased_until
        FROM (
            SELECT id
            FROM basalt.outbox
            WHERE sent_at IS NULL
              AND failed_at IS NULL
              AND next_attempt_at <= :now
              AND (leased_until IS NULL OR leased_until <= :now)
            ORDER BY next_attempt_at, number
            LIMIT :limit
            FOR UPDATE SKIP LOCKED
        ) due
        WHERE o.id = due.id
        RETURNING o.id, o.purpose, o.recipient, o.subject, o.html, o.text, o.headers, o.message_id, o.created_at,
                  o.give_up_at, o.attempts";

    RENEW = "outbox.renew": "
        UPDATE basalt.outbox
        SET leased_until = :leased_until
        WHERE id = :id
          AND attempts = :attempts
          AND sent_at IS NULL";

    SENT = "outbox.mark_sent": "
        UPDATE basalt.outbox
        SET sent_at = :now,
            sent_to = 'server',
            leased_until = NULL,
            failed_at = NULL,
            last_error = NULL,
            html = '',
            text = NULL,
            code = NULL,
            link = NULL
        WHERE id = :id
          AND sent_at IS NULL";

    POSTPONE = "outbox.postpone": "
        UPDATE basalt.outbox
        SET next_attempt_at = :next_attempt_at,
            last_error = :error,
            leased_until = NULL
        WHERE id = :id
          AND attempts = :attempts
          AND sent_at IS NULL";

    GIVE_UP = "outbox.give_up": "
        UPDATE basalt.outbox
        SET failed_at = :now,
            last_error = :error,
            leased_until = NULL
        WHERE id = :id
          AND attempts = :attempts
          AND sent_at IS NULL";

    RETRY = "outbox.retry": "
        UPDATE basalt.outbox
        SET failed_at = NULL,
            last_error = NULL,
            leased_until = NULL,
            next_attempt_at = :now,
            give_up_at = :give_up_at
        WHERE id = :id
          AND failed_at IS NOT NULL
          AND sent_at IS NULL";

    #[repeatable]
    NEXT = "outbox.find_next_attempt": "
        SELECT min(GREATEST(next_attempt_at, leased_until)) AS due
        FROM basalt.outbox
        WHERE sent_at IS NULL
          AND failed_at IS NULL";

    DELETE_EXPIRED = "outbox.delete_expired": "
        WITH full_again AS (
            DELETE FROM basalt.limits
            WHERE full_at < :now
        )
        DELETE FROM basalt.outbox
        WHERE sent_at < :sent_before";
}

/// The outbox, for use outside a request.
#[derive(Debug, Clone)]
pub struct OutboxTable(Pool);

impl OutboxTable {
    /// Creates the outbox of this database.
    pub fn new(pool: Pool) -> Self {
        Self(pool)
    }

    /// Returns a connection for single statements, each on its own pooled connection.
    pub fn connection(&self) -> Connection {
        Connection::pooled(self.0.clone(), Arc::default())
    }
}

/// A mail to insert: the parts of the message and its delivery state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewMail {
    pub id: Uuid,
    /// The purpose, such as `confirmation` or `submission_notice`.
    pub purpose: String,
    /// The recipient's address.
    pub recipient: String,
    /// The subject, plain text.
    pub subject: String,
    /// The HTML body.
    pub html: String,
    /// The plain-text body.
    pub text: Option<String>,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
    /// The code in the mail.
    pub code: Option<String>,
    /// The link in the mail.
    pub link: Option<String>,
    /// `unique@host`, the same for every attempt.
    pub message_id: String,
    /// The time of writing, and of the first attempt.
    pub created_at: Time,
    /// The time after which no attempt is made.
    pub give_up_at: Time,
    /// The time of delivery, for a mail that no worker sends.
    pub sent_at: Option<Time>,
    /// `inbox` or `discarded` for a mail that no worker sends.
    pub sent_to: Option<&'static str>,
}

/// Encodes mails as the parameter of `jsonb_to_recordset` in [`INSERT`], and in statements that repeat it.
pub fn encode_rows(mails: &[NewMail]) -> Json<&[NewMail]> {
    Json(mails)
}

/// Inserts mails; they are sent after the transaction is committed.
pub async fn insert(db: &mut Connection, mails: &[NewMail]) -> Result<()> {
    db.execute(bind!(INSERT, mails: encode_rows(mails))).await.map(drop)
}

/// A mail leased by a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedMail {
    pub id: Uuid,
    pub purpose: String,
    /// The recipient's address.
    pub recipient: String,
    pub subject: String,
    /// The HTML body.
    pub html: String,
    /// The plain-text body.
    pub text: Option<String>,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
    /// `unique@host`.
    pub message_id: String,
    /// The time of writing.
    pub created_at: Time,
    /// The time after which no attempt is made.
    pub give_up_at: Time,
    /// The number of started attempts with this one; identifies the lease.
    pub attempts: i32,
}

impl FromRow<'_, PgRow> for LeasedMail {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            purpose: row.try_get("purpose")?,
            recipient: row.try_get("recipient")?,
            subject: row.try_get("subject")?,
            html: row.try_get("html")?,
            text: row.try_get("text")?,
            headers: row.try_get::<Json<_>, _>("headers")?.0,
            message_id: row.try_get("message_id")?,
            created_at: row.try_get("created_at")?,
            give_up_at: row.try_get("give_up_at")?,
            attempts: row.try_get("attempts")?,
        })
    }
}

/// Leases at most `at_most` due mails until `until`.
pub async fn lease(db: &mut Connection, now: Time, until: Time, at_most: i64) -> Result<Vec<LeasedMail>> {
    db.fetch_all(bind!(LEASE, now, leased_until: until, limit: at_most)).await
}

/// Extends a lease until then, unless another worker holds the mail.
pub async fn renew(db: &mut Connection, mail: &LeasedMail, until: Time) -> Result<()> {
    db.execute(bind!(RENEW, id: mail.id, attempts: mail.attempts, leased_until: until)).await.map(drop)
}

/// Marks a mail as accepted by a mail server, whichever worker holds it, and clears its secrets.
pub async fn mark_sent(db: &mut Connection, id: Uuid, now: Time) -> Result<()> {
    db.execute(bind!(SENT, id, now)).await.map(drop)
}

/// Schedules the next attempt after a failed one, unless another worker holds the mail.
pub async fn postpone(db: &mut Connection, mail: &LeasedMail, next_attempt_at: Time, error: &str) -> Result<()> {
    db.execute(bind!(POSTPONE, id: mail.id, attempts: mail.attempts, next_attempt_at, error)).await.map(drop)
}

/// Marks a mail as failed for good; its content is kept.
pub async fn give_up(db: &mut Connection, mail: &LeasedMail, now: Time, error: &str) -> Result<()> {
    db.execute(bind!(GIVE_UP, id: mail.id, attempts: mail.attempts, now, error)).await.map(drop)
}

/// Makes a mail that was given up due until then; returns whether there was one.
pub async fn retry(db: &mut Connection, id: Uuid, now: Time, give_up_at: Time) -> Result<bool> {
    Ok(db.execute(bind!(RETRY, id, now, give_up_at)).await? > 0)
}

/// Returns the time of the next attempt, if a mail is waiting.
pub async fn find_next_attempt(db: &mut Connection) -> Result<Option<Time>> {
    db.fetch_one::<(Option<Time>,)>(bind!(NEXT)).await.map(|(due,)| due)
}

/// Deletes mails sent before `before`, and rate-limit buckets that are full.
///
/// Returns the number of mails. Failed mails are kept.
pub async fn delete_expired(db: &mut Connection, before: Time, now: Time) -> Result<u64> {
    db.execute(bind!(DELETE_EXPIRED, sent_before: before, now)).await
}
