//! Statements that change submissions, their notes and their replies.

use foundation::time::Time;
use platform::store::outbox::{self, NewMail};
use platform::store::{Connection, Result, Statement};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::filter::SubmissionStatus;

statements! {
    SET_STATUS = "submissions.set_status": "
        UPDATE basalt.submissions
        SET status = :status
        WHERE id = :id";

    INSERT_NOTE = "submissions.insert_note": "
        WITH target AS (
            SELECT s.id,
                   (SELECT count(*) FROM basalt.submission_notes n WHERE n.submission = s.id) AS notes
            FROM basalt.submissions s
            WHERE s.id = :id
            FOR UPDATE
        ), note AS (
            INSERT INTO basalt.submission_notes (id, submission, text, author, created_at)
            SELECT :note, t.id, :text, :author, :now::timestamptz
            FROM target t
            WHERE t.notes < :limit
            RETURNING id
        )
        SELECT EXISTS (SELECT FROM target) AS is_found,
               EXISTS (SELECT FROM note) AS is_stored";

    DELETE_NOTE = "submissions.delete_note": "
        DELETE FROM basalt.submission_notes
        WHERE id = :note
          AND submission = :id";

    LOCK = "submissions.lock": "
        SELECT description, created_at, account_email, senders
        FROM basalt.submissions
        WHERE id = :id
        FOR UPDATE";

    #[repeatable]
    LATEST_MAILS = "submissions.find_latest_mails": "
        SELECT (SELECT m.message_id
                FROM basalt.submission_messages m
                WHERE m.submission = :id
                  AND m.kind = 'confirmation'
                LIMIT 1) AS confirmation,
               (SELECT count(*)
                FROM basalt.submission_messages m
                WHERE m.submission = :id
                  AND m.kind = 'reply') AS replies,
               (SELECT m.id
                FROM basalt.submission_messages m
                WHERE m.submission = :id
                  AND m.kind = 'reply'
                  AND m.created_at > :since::timestamptz
                  AND m.recipient = :recipient
                  AND m.subject = :subject
                  AND m.text = :text
                LIMIT 1) AS repeated";

    #[proves(Message)]
    INSERT_REPLY = "submissions.insert_reply": "
        WITH mail AS (
            INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id,
                                       created_at, attempts, next_attempt_at, give_up_at, sent_at, sent_to)
            SELECT m.id, m.purpose, m.recipient, m.subject, m.html, m.text, m.headers, m.code, m.link, m.message_id,
                   m.created_at, 0, m.created_at, m.give_up_at, m.sent_at, m.sent_to
            FROM jsonb_to_recordset(:mails) AS m (
                id uuid, purpose text, recipient text, subject text, html text, text text, headers jsonb, code text,
                link text, message_id text, created_at timestamptz, give_up_at timestamptz, sent_at timestamptz,
                sent_to text
            )
            RETURNING id, recipient, message_id, created_at
        ), message AS (
            INSERT INTO basalt.submission_messages (id, submission, kind, recipient, subject, text, author, message_id,
                                                    created_at)
            SELECT m.id, :id, 'reply', m.recipient, :subject, :text, :author, m.message_id, m.created_at
            FROM mail m
        )
        UPDATE basalt.submissions
        SET status = 'answered'
        WHERE id = :id";

    DELETE = "submissions.delete": "
        WITH failed AS (
            DELETE FROM basalt.outbox o
            USING basalt.submission_messages m
            WHERE m.submission = ANY (:ids::uuid[])
              AND o.id = m.id
              AND o.failed_at IS NOT NULL
        )
        DELETE FROM basalt.submissions
        WHERE id = ANY (:ids)";
}

/// The outcome of storing a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteOutcome {
    /// Whether the submission exists.
    pub is_found: bool,
    /// Whether the note was stored: not above the limit.
    pub is_stored: bool,
}

impl FromRow<'_, PgRow> for NoteOutcome {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self { is_found: row.try_get("is_found")?, is_stored: row.try_get("is_stored")? })
    }
}

/// A note to store.
#[derive(Debug, Clone, Copy)]
pub struct NewNote<'a> {
    /// Its id.
    pub id: Uuid,
    pub text: &'a str,
    /// Who wrote it.
    pub author: &'a str,
    /// The time of writing.
    pub now: Time,
    /// The maximum number of notes of a submission.
    pub limit: i64,
}

/// The submission that a reply quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedSubmission {
    /// The text.
    pub description: String,
    /// The time of the submission.
    pub created_at: Time,
    /// The address of the account that was signed in.
    pub account_email: Option<String>,
    /// The addresses in the text, if they were recorded.
    pub senders: Option<Vec<String>>,
}

impl FromRow<'_, PgRow> for QuotedSubmission {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            description: row.try_get("description")?,
            created_at: row.try_get("created_at")?,
            account_email: row.try_get("account_email")?,
            senders: row.try_get("senders")?,
        })
    }
}

/// The mails that a new reply refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierMails {
    /// The `Message-ID` of the confirmation.
    pub confirmation: Option<String>,
    /// The number of replies.
    pub replies: i64,
    /// The reply that the new one repeats.
    pub repeated: Option<Uuid>,
}

impl FromRow<'_, PgRow> for EarlierMails {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            confirmation: row.try_get("confirmation")?,
            replies: row.try_get("replies")?,
            repeated: row.try_get("repeated")?,
        })
    }
}

/// The owner's answer to a submission.
#[derive(Debug, Clone, Copy)]
pub struct ReplyContent<'a> {
    pub recipient: &'a str,
    pub subject: &'a str,
    /// The text, without the quoted submission.
    pub text: &'a str,
}

/// Sets the status of a submission; returns whether it exists.
pub async fn set_status(db: &mut Connection, id: Uuid, status: SubmissionStatus) -> Result<bool> {
    Ok(db.execute(bind!(SET_STATUS, id, status: status.as_str())).await? > 0)
}

/// Stores a note, if the submission exists and has fewer than the limit.
pub async fn insert_note(db: &mut Connection, id: Uuid, new: NewNote<'_>) -> Result<NoteOutcome> {
    let NewNote { id: note, text, author, now, limit } = new;
    db.fetch_one(bind!(INSERT_NOTE, id, note, text, author, now, limit)).await
}

/// Deletes a note; returns whether it existed.
pub async fn delete_note(db: &mut Connection, id: Uuid, note: Uuid) -> Result<bool> {
    Ok(db.execute(bind!(DELETE_NOTE, id, note)).await? > 0)
}

/// Returns a submission and locks it until the transaction ends.
pub async fn lock(db: &mut Connection, id: Uuid) -> Result<Option<QuotedSubmission>> {
    db.fetch_optional(bind!(LOCK, id)).await
}

/// Finds the mails that a reply refers to, and the reply that it repeats since `since`.
///
/// The submission is locked.
pub async fn find_earlier_mails(
    db: &mut Connection,
    id: Uuid,
    reply: ReplyContent<'_>,
    since: Time,
) -> Result<EarlierMails> {
    let ReplyContent { recipient, subject, text } = reply;
    db.fetch_one(bind!(LATEST_MAILS, id, recipient, subject, text, since)).await
}

/// Stores a reply with its mail and marks the locked submission as answered.
pub async fn insert_reply(
    db: &mut Connection,
    id: Uuid,
    mail: NewMail,
    reply: ReplyContent<'_>,
    author: &str,
) -> Result<()> {
    let mails = [mail];
    let ReplyContent { subject, text, .. } = reply;
    let bound = bind!(INSERT_REPLY, id, subject, text, author, mails: outbox::encode_rows(&mails));
    db.execute(bound).await.map(drop)
}

/// Deletes submissions with their notes, messages and failed mails; returns their number.
///
/// Mails that wait are still sent.
pub async fn delete(db: &mut Connection, ids: &[Uuid]) -> Result<u64> {
    db.execute(bind!(DELETE, ids)).await
}

/// Returns all statements of this module, for the test that prepares them.
pub fn list_statements() -> Vec<&'static Statement> {
    STATEMENTS.list()
}
