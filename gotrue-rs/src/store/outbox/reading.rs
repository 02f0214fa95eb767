//! What operators and developers see of the outbox: counts, troubles, and the development inbox.

use gotrue_rules::domain::user::Time;
use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::store::Result;
use crate::store::statement::{Connection, Statement, args};

/// How many mails are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutboxState {
    /// Not tried yet, or being tried for the first time.
    pub waiting: i64,
    /// Tried in vain, to be tried again.
    pub retrying: i64,
    /// Given up; somebody should look.
    pub failed: i64,
    /// Taken by a mail server, or in the inbox, in the last 24 hours.
    pub sent: i64,
}

impl FromRow<'_, PgRow> for OutboxState {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            waiting: row.try_get("waiting")?,
            retrying: row.try_get("retrying")?,
            failed: row.try_get("failed")?,
            sent: row.try_get("sent")?,
        })
    }
}

pub(super) const STATE: Statement = Statement {
    name: "outbox.state",
    sql: "
        SELECT count(*) FILTER (WHERE last_error IS NULL) AS waiting,
               count(*) FILTER (WHERE last_error IS NOT NULL) AS retrying,
               (SELECT count(*) FROM basalt.outbox WHERE failed_at IS NOT NULL) AS failed,
               (SELECT count(*) FROM basalt.outbox WHERE sent_at > $1) AS sent
        FROM basalt.outbox
        WHERE sent_at IS NULL
          AND failed_at IS NULL",
};

/// How many mails are where; of those that arrived, the ones since then.
pub async fn state(db: &mut Connection, since: Time) -> Result<OutboxState> {
    db.one(&STATE, args![since]).await
}

/// A mail that was given up or goes badly, without what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// `id`.
    pub id: Uuid,
    /// What the mail is for.
    pub purpose: String,
    /// When it was written.
    pub created_at: Time,
    /// How many attempts were begun.
    pub attempts: i32,
    /// When the next is due; meaningless for one that was given up.
    pub next_attempt_at: Time,
    /// When it was given up.
    pub failed_at: Option<Time>,
    /// What the last attempt said.
    pub last_error: Option<String>,
}

impl FromRow<'_, PgRow> for Trouble {
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

pub(super) const TROUBLES: Statement = Statement {
    name: "outbox.troubles",
    sql: "
        SELECT id, purpose, created_at, attempts, next_attempt_at, failed_at, last_error
        FROM basalt.outbox
        WHERE sent_at IS NULL
          AND last_error IS NOT NULL
        ORDER BY number DESC
        LIMIT 100",
};

/// The latest hundred mails that were tried in vain.
pub async fn troubles(db: &mut Connection) -> Result<Vec<Trouble>> {
    db.all(&TROUBLES, args![]).await
}

/// A mail in the development inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Received {
    /// `id`: what comes later is asked for with it.
    pub id: Uuid,
    /// The address it went to.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The link in it.
    pub link: Option<String>,
    /// The code in it.
    pub code: Option<String>,
    /// The plain body, if it has one.
    pub text: Option<String>,
    /// The HTML body.
    pub html: String,
    /// What it is for.
    pub kind: String,
    /// When it was written.
    pub created_at: Time,
}

impl FromRow<'_, PgRow> for Received {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            to: row.try_get("recipient")?,
            subject: row.try_get("subject")?,
            link: row.try_get("link")?,
            code: row.try_get("code")?,
            text: row.try_get("text")?,
            html: row.try_get("html")?,
            kind: row.try_get("purpose")?,
            created_at: row.try_get("created_at")?,
        })
    }
}

pub(super) const INBOX: Statement = Statement {
    name: "outbox.inbox",
    sql: "
        SELECT id, recipient, subject, link, code, text, html, purpose, created_at
        FROM basalt.outbox
        WHERE sent_to = 'inbox'
          AND ($1::text IS NULL OR lower(recipient) = lower($1))
          AND ($2::uuid IS NULL OR number > (SELECT number FROM basalt.outbox WHERE id = $2))
        ORDER BY number DESC
        LIMIT $3",
};

/// The newest mails of the inbox first: to that address, written after the mail of that id, at most so many.
pub async fn inbox(db: &mut Connection, to: Option<&str>, after: Option<Uuid>, at_most: i64) -> Result<Vec<Received>> {
    db.all(&INBOX, args![to, after, at_most]).await
}

pub(super) const RECEIVED: Statement = Statement {
    name: "outbox.received",
    sql: "
        SELECT id, recipient, subject, link, code, text, html, purpose, created_at
        FROM basalt.outbox
        WHERE sent_to = 'inbox'
          AND id = $1",
};

/// The mail of the inbox with that id.
pub async fn received(db: &mut Connection, id: Uuid) -> Result<Option<Received>> {
    db.optional(&RECEIVED, args![id]).await
}
