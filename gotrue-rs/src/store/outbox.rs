//! `basalt.outbox`: mails on their way, and the ones that ended in the development inbox. Several workers may hand out
//! rows at once; none is lost when one dies, because a row stays until it is marked.

use std::sync::Arc;

use gotrue_rules::domain::user::Time;
use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};
use uuid::Uuid;

pub use self::reading::{OutboxState, Received, Trouble, inbox, received, state, troubles};
use super::Result;
use super::pool::Pool;
use super::statement::{Connection, Statement, args};

mod reading;

/// The table, for those who act outside a request.
#[derive(Debug, Clone)]
pub struct Table(Pool);

impl Table {
    /// The table of this database.
    pub fn new(pool: Pool) -> Self {
        Self(pool)
    }

    /// Statements that stand alone, each on a connection given back at once.
    pub fn connection(&self) -> Connection {
        Connection::pooled(self.0.clone(), Arc::default())
    }
}

/// A mail to be written: the parts of a message, and whether it has arrived already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewMail {
    /// `id`.
    pub id: Uuid,
    /// What the mail is for: `confirmation`, `submission_notice`.
    pub purpose: String,
    /// The address it goes to.
    pub recipient: String,
    /// The subject, plain text.
    pub subject: String,
    /// The body.
    pub html: String,
    /// The body for readers that show no HTML.
    pub text: Option<String>,
    /// Headers of this mail alone.
    pub headers: Vec<(String, String)>,
    /// The code in it.
    pub code: Option<String>,
    /// The link in it.
    pub link: Option<String>,
    /// `unique@host`, the same for every attempt.
    pub message_id: String,
    /// When it was written, and when it is first due.
    pub created_at: Time,
    /// When to stop trying.
    pub give_up_at: Time,
    /// When it arrived, for a mail to the inbox.
    pub sent_at: Option<Time>,
    /// `inbox` for a mail that arrived there.
    pub sent_to: Option<&'static str>,
}

/// `INSERT` of the [`NewMail`]s that are parameter `$n` as JSON (see [`rows`]), for a statement of its own or as a part of one:
/// what follows the rows in `FROM` joins them to it.
#[macro_export]
macro_rules! outbox_insert {
    ($n:literal, $joined:literal) => {
        concat!(
            "INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id,
                                        created_at, attempts, next_attempt_at, give_up_at, sent_at, sent_to)
             SELECT m.id, m.purpose, m.recipient, m.subject, m.html, m.text, m.headers, m.code, m.link, m.message_id,
                    m.created_at, 0, m.created_at, m.give_up_at, m.sent_at, m.sent_to
             FROM jsonb_to_recordset($",
            $n,
            ") AS m (id uuid, purpose text, recipient text, subject text, html text, text text, headers jsonb, code text,
                     link text, message_id text, created_at timestamptz, give_up_at timestamptz, sent_at timestamptz,
                     sent_to text)",
            $joined
        )
    };
}

/// The parameter of [`outbox_insert!`].
pub fn rows(mails: &[NewMail]) -> Json<&[NewMail]> {
    Json(mails)
}

const INSERT: Statement = Statement { name: "outbox.insert", sql: outbox_insert!(1, "") };

/// Writes mails; they go out once the transaction is committed.
pub async fn insert(db: &mut Connection, mails: &[NewMail]) -> Result<()> {
    db.execute(&INSERT, args![rows(mails)]).await.map(drop)
}

/// A mail handed out to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    /// `id`.
    pub id: Uuid,
    /// What the mail is for.
    pub purpose: String,
    /// The address it goes to.
    pub recipient: String,
    /// The subject.
    pub subject: String,
    /// The body.
    pub html: String,
    /// The body for readers that show no HTML.
    pub text: Option<String>,
    /// Headers of this mail alone.
    pub headers: Vec<(String, String)>,
    /// `unique@host`.
    pub message_id: String,
    /// When it was written.
    pub created_at: Time,
    /// When to stop trying.
    pub give_up_at: Time,
    /// How many attempts were begun, this one included: the number tells this lease from a later one.
    pub attempts: i32,
}

impl FromRow<'_, PgRow> for Leased {
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

const LEASE: Statement = Statement {
    name: "outbox.lease",
    sql: "
        UPDATE basalt.outbox o
        SET attempts = o.attempts + 1,
            leased_until = $2
        FROM (
            SELECT id
            FROM basalt.outbox
            WHERE sent_at IS NULL
              AND failed_at IS NULL
              AND next_attempt_at <= $1
              AND (leased_until IS NULL OR leased_until <= $1)
            ORDER BY next_attempt_at, number
            LIMIT $3
            FOR UPDATE SKIP LOCKED
        ) due
        WHERE o.id = due.id
        RETURNING o.id, o.purpose, o.recipient, o.subject, o.html, o.text, o.headers, o.message_id, o.created_at,
                  o.give_up_at, o.attempts",
};

/// Hands out mails that are due, at most so many, to nobody else until the lease ends.
pub async fn lease(db: &mut Connection, now: Time, until: Time, at_most: i64) -> Result<Vec<Leased>> {
    db.all(&LEASE, args![now, until, at_most]).await
}

const RENEW: Statement = Statement {
    name: "outbox.renew",
    sql: "
        UPDATE basalt.outbox
        SET leased_until = $3
        WHERE id = $1
          AND attempts = $2
          AND sent_at IS NULL",
};

/// The attempt is still under way: the lease goes on until then, unless somebody else holds the mail by now.
pub async fn renew(db: &mut Connection, mail: &Leased, until: Time) -> Result<()> {
    db.execute(&RENEW, args![mail.id, mail.attempts, until]).await.map(drop)
}

const SENT: Statement = Statement {
    name: "outbox.sent",
    sql: "
        UPDATE basalt.outbox
        SET sent_at = $2,
            sent_to = 'server',
            leased_until = NULL,
            failed_at = NULL,
            last_error = NULL,
            html = '',
            text = NULL,
            code = NULL,
            link = NULL
        WHERE id = $1
          AND sent_at IS NULL",
};

/// A mail server has taken the mail, whoever holds it now: what was secret in it is forgotten.
pub async fn sent(db: &mut Connection, id: Uuid, now: Time) -> Result<()> {
    db.execute(&SENT, args![id, now]).await.map(drop)
}

const POSTPONE: Statement = Statement {
    name: "outbox.postpone",
    sql: "
        UPDATE basalt.outbox
        SET next_attempt_at = $3,
            last_error = $4,
            leased_until = NULL
        WHERE id = $1
          AND attempts = $2
          AND sent_at IS NULL",
};

/// The attempt failed; another is made then, unless somebody else holds the mail by now.
pub async fn postpone(db: &mut Connection, mail: &Leased, next_attempt_at: Time, error: &str) -> Result<()> {
    db.execute(&POSTPONE, args![mail.id, mail.attempts, next_attempt_at, error]).await.map(drop)
}

const GIVE_UP: Statement = Statement {
    name: "outbox.give_up",
    sql: "
        UPDATE basalt.outbox
        SET failed_at = $3,
            last_error = $4,
            leased_until = NULL
        WHERE id = $1
          AND attempts = $2
          AND sent_at IS NULL",
};

/// No further attempt is made; the mail is kept as it is.
pub async fn give_up(db: &mut Connection, mail: &Leased, now: Time, error: &str) -> Result<()> {
    db.execute(&GIVE_UP, args![mail.id, mail.attempts, now, error]).await.map(drop)
}

const NEXT: Statement = Statement {
    name: "outbox.next",
    sql: "
        SELECT min(GREATEST(next_attempt_at, leased_until)) AS due
        FROM basalt.outbox
        WHERE sent_at IS NULL
          AND failed_at IS NULL",
};

/// When the next mail is due, if one waits.
pub async fn next(db: &mut Connection) -> Result<Option<Time>> {
    db.one::<(Option<Time>,)>(&NEXT, args![]).await.map(|(due,)| due)
}

const SWEEP: Statement = Statement {
    name: "outbox.sweep",
    sql: "
        WITH full_again AS (
            DELETE FROM basalt.limits
            WHERE full_at < $2
        )
        DELETE FROM basalt.outbox
        WHERE sent_at < $1",
};

/// Forgets mails that arrived before then, and limits that nothing is missing in any more; mails given up are kept. Returns how
/// many mails.
pub async fn sweep(db: &mut Connection, before: Time, now: Time) -> Result<u64> {
    db.execute(&SWEEP, args![before, now]).await
}

/// Every statement of this table, for the test that prepares them.
pub const ALL: &[&Statement] = &[
    &INSERT,
    &LEASE,
    &RENEW,
    &SENT,
    &POSTPONE,
    &GIVE_UP,
    &NEXT,
    &SWEEP,
    &reading::STATE,
    &reading::TROUBLES,
    &reading::INBOX,
    &reading::RECEIVED,
];
