//! Statements that read submissions with their notes and messages.

use foundation::time::Time;
use platform::store::{Connection, Result, Statement};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::filter::{FIRST_TIME, LAST_TIME, SubmissionPage, SubmissionStatus, search_expression};
use super::records::{MessageRecord, NoteRecord, SubmissionRecord};

/// The columns of a submission `p`, with what is known about its mails.
///
/// Relation `m` counts them. Delivered ones are deleted from the outbox after some time.
macro_rules! columns {
    () => {
        "p.id, p.description, p.created_at, p.status, p.template, p.account_email, p.senders, p.spam_score,
         m.messages, m.replies, m.waiting, m.failed"
    };
}

statements! {
    #[repeatable]
    LIST = "submissions.list": concat!(
        "SELECT ",
        columns!(),
        "
         FROM (
             SELECT s.id, s.description, s.created_at, s.status, s.template, s.account_email, s.senders, s.spam_score
             FROM basalt.submissions s
             WHERE (s.created_at, s.id) < (:before_at::timestamptz, :before_id::uuid)
               AND s.created_at >= :from
               AND (:template::integer IS NULL OR s.template = :template)
             ORDER BY s.created_at DESC, s.id DESC
             LIMIT :limit
         ) p
         LEFT JOIN LATERAL (
             SELECT count(*) AS messages,
                    count(*) FILTER (WHERE k.kind = 'reply') AS replies,
                    count(*) FILTER (WHERE o.sent_at IS NULL AND o.failed_at IS NULL AND o.id IS NOT NULL) AS waiting,
                    count(*) FILTER (WHERE o.failed_at IS NOT NULL) AS failed
             FROM basalt.submission_messages k
             LEFT JOIN basalt.outbox o ON o.id = k.id
             WHERE k.submission = p.id
         ) m ON true
         ORDER BY p.created_at DESC, p.id DESC"
    );

    #[repeatable]
    LIST_OF_STATUS = "submissions.list_of_status": concat!(
        "SELECT ",
        columns!(),
        "
         FROM (
             SELECT s.id, s.description, s.created_at, s.status, s.template, s.account_email, s.senders, s.spam_score
             FROM basalt.submissions s
             WHERE (s.created_at, s.id) < (:before_at::timestamptz, :before_id::uuid)
               AND s.created_at >= :from
               AND (:template::integer IS NULL OR s.template = :template)
               AND s.status = :status
             ORDER BY s.created_at DESC, s.id DESC
             LIMIT :limit
         ) p
         LEFT JOIN LATERAL (
             SELECT count(*) AS messages,
                    count(*) FILTER (WHERE k.kind = 'reply') AS replies,
                    count(*) FILTER (WHERE o.sent_at IS NULL AND o.failed_at IS NULL AND o.id IS NOT NULL) AS waiting,
                    count(*) FILTER (WHERE o.failed_at IS NOT NULL) AS failed
             FROM basalt.submission_messages k
             LEFT JOIN basalt.outbox o ON o.id = k.id
             WHERE k.submission = p.id
         ) m ON true
         ORDER BY p.created_at DESC, p.id DESC"
    );

    SEARCH = "submissions.search": concat!(
        "SELECT ",
        columns!(),
        "
         FROM (
             SELECT s.id, s.description, s.created_at, s.status, s.template, s.account_email, s.senders, s.spam_score
             FROM basalt.submissions s
             WHERE (s.created_at, s.id) < (:before_at::timestamptz, :before_id::uuid)
               AND s.created_at >= :from
               AND (:template::integer IS NULL OR s.template = :template)
               AND basalt.submission_words(s.description, s.account_email)
                   @@ to_tsquery('pg_catalog.simple', :words::text)
               AND (:status::text IS NULL OR s.status = :status)
             ORDER BY s.created_at DESC, s.id DESC
             LIMIT :limit
         ) p
         LEFT JOIN LATERAL (
             SELECT count(*) AS messages,
                    count(*) FILTER (WHERE k.kind = 'reply') AS replies,
                    count(*) FILTER (WHERE o.sent_at IS NULL AND o.failed_at IS NULL AND o.id IS NOT NULL) AS waiting,
                    count(*) FILTER (WHERE o.failed_at IS NOT NULL) AS failed
             FROM basalt.submission_messages k
             LEFT JOIN basalt.outbox o ON o.id = k.id
             WHERE k.submission = p.id
         ) m ON true
         ORDER BY p.created_at DESC, p.id DESC"
    );

    #[repeatable]
    GET = "submissions.get": concat!(
        "SELECT ",
        columns!(),
        "
         FROM basalt.submissions p
         LEFT JOIN LATERAL (
             SELECT count(*) AS messages,
                    count(*) FILTER (WHERE k.kind = 'reply') AS replies,
                    count(*) FILTER (WHERE o.sent_at IS NULL AND o.failed_at IS NULL AND o.id IS NOT NULL) AS waiting,
                    count(*) FILTER (WHERE o.failed_at IS NOT NULL) AS failed
             FROM basalt.submission_messages k
             LEFT JOIN basalt.outbox o ON o.id = k.id
             WHERE k.submission = p.id
         ) m ON true
         WHERE p.id = :id"
    );

    #[repeatable]
    NOTES = "submissions.list_notes": "
        SELECT id, text, author, created_at
        FROM basalt.submission_notes
        WHERE submission = :id
        ORDER BY created_at, id";

    #[repeatable]
    MESSAGES = "submissions.list_messages": "
        SELECT m.id, m.kind, m.recipient, m.subject, m.text, m.author, m.created_at, o.last_error, o.sent_at, o.attempts,
               CASE WHEN o.id IS NULL OR o.sent_to = 'server' THEN 'sent'
                    WHEN o.failed_at IS NOT NULL THEN 'failed'
                    WHEN o.sent_to IS NOT NULL THEN 'held'
                    ELSE 'waiting'
               END AS state
        FROM basalt.submission_messages m
        LEFT JOIN basalt.outbox o ON o.id = m.id
        WHERE m.submission = :id
        ORDER BY m.created_at, m.kind, m.id";

    #[repeatable]
    COUNTS = "submissions.count_by_status": "
        SELECT status, count(*) AS count
        FROM basalt.submissions
        GROUP BY status";
}

impl FromRow<'_, PgRow> for SubmissionRecord {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let template: Option<i32> = row.try_get("template")?;
        let status: String = row.try_get("status")?;
        Ok(Self {
            id: row.try_get("id")?,
            description: row.try_get("description")?,
            created_at: row.try_get("created_at")?,
            status: SubmissionStatus::parse(&status).unwrap_or(SubmissionStatus::New),
            template: template.and_then(|id| id.try_into().ok()),
            account_email: row.try_get("account_email")?,
            senders: row.try_get("senders")?,
            spam_score: row.try_get("spam_score")?,
            messages: row.try_get("messages")?,
            replies: row.try_get("replies")?,
            waiting: row.try_get("waiting")?,
            failed: row.try_get("failed")?,
        })
    }
}

impl FromRow<'_, PgRow> for NoteRecord {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            text: row.try_get("text")?,
            author: row.try_get("author")?,
            created_at: row.try_get("created_at")?,
        })
    }
}

impl FromRow<'_, PgRow> for MessageRecord {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            kind: row.try_get("kind")?,
            recipient: row.try_get("recipient")?,
            subject: row.try_get("subject")?,
            text: row.try_get("text")?,
            author: row.try_get("author")?,
            state: row.try_get("state")?,
            error: row.try_get("last_error")?,
            created_at: row.try_get("created_at")?,
            sent_at: row.try_get("sent_at")?,
            attempts: row.try_get("attempts")?,
        })
    }
}

/// Returns at most `limit` submissions of a page, newest first.
pub async fn list(db: &mut Connection, page: &SubmissionPage, limit: i64) -> Result<Vec<SubmissionRecord>> {
    let filter = &page.filter;
    let until = (filter.until.unwrap_or(LAST_TIME), Uuid::nil());
    let position = page.before.map_or(until, |cursor| (cursor.created_at, cursor.id));
    let (before_at, before_id) = position.min(until);
    let from: Time = filter.from.unwrap_or(FIRST_TIME);
    let template = filter.template.map(i32::from);
    let status = filter.status.map(SubmissionStatus::as_str);
    let words = filter.search.as_deref().and_then(search_expression);
    let bound = match (words, status) {
        (Some(words), status) => {
            bind!(SEARCH, before_at, before_id, from, template, status, words, limit)
        }
        (None, Some(status)) => bind!(LIST_OF_STATUS, before_at, before_id, from, template, status, limit),
        (None, None) => bind!(LIST, before_at, before_id, from, template, limit),
    };
    db.fetch_all(bound).await
}

/// Returns a submission.
pub async fn get(db: &mut Connection, id: Uuid) -> Result<Option<SubmissionRecord>> {
    db.fetch_optional(bind!(GET, id)).await
}

/// Returns the notes of a submission, oldest first.
pub async fn list_notes(db: &mut Connection, id: Uuid) -> Result<Vec<NoteRecord>> {
    db.fetch_all(bind!(NOTES, id)).await
}

/// Returns the mails about a submission, oldest first.
pub async fn list_messages(db: &mut Connection, id: Uuid) -> Result<Vec<MessageRecord>> {
    db.fetch_all(bind!(MESSAGES, id)).await
}

/// Counts the submissions of each status that occurs.
pub async fn count_by_status(db: &mut Connection) -> Result<Vec<(String, i64)>> {
    db.fetch_all(bind!(COUNTS)).await
}

/// Returns all statements of this module, for the test that prepares them.
pub fn list_statements() -> Vec<&'static Statement> {
    STATEMENTS.list()
}
