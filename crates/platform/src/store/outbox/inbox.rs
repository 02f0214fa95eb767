//! Messages that are kept for development and tests: rows of the outbox that no mail server gets.

use foundation::time::Time;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::store::Result;
use crate::store::binding::{bind, statements};
use crate::store::statement::Connection;

/// The columns of an [`InboxMail`].
macro_rules! columns {
    () => {
        "id, number, channel, sender, recipient, subject, link, code, text, html, headers, message_id, purpose,
         created_at, attachment_count, coalesce(length(raw), 0) AS raw_size, read_at IS NOT NULL AS is_read"
    };
}

statements! {
    /// Only an injected fault makes a message arrive after its creation.
    #[repeatable]
    INBOX = "outbox.list_inbox": concat!(
        "SELECT ", columns!(), "
        FROM basalt.outbox
        WHERE sent_to = 'inbox'
          AND (sent_at <= created_at OR sent_at <= :now::timestamptz)
          AND channel = 'email'
          AND (:recipient::text IS NULL OR lower(:recipient) = ANY (string_to_array(lower(recipient), ', ')))
          AND (:after_id::uuid IS NULL OR number > (SELECT number FROM basalt.outbox WHERE id = :after_id))
        ORDER BY number DESC
        LIMIT :limit"
    );

    #[repeatable]
    MESSAGES = "outbox.list_messages": concat!(
        "SELECT ", columns!(), "
        FROM basalt.outbox
        WHERE sent_to = 'inbox'
          AND (sent_at <= created_at OR sent_at <= :now::timestamptz)
          AND (:recipient::text IS NULL OR lower(:recipient) = ANY (string_to_array(lower(recipient), ', ')))
          AND (:channel::text IS NULL OR channel = :channel)
          AND (:purpose::text IS NULL OR purpose = :purpose)
          AND (:subject::text IS NULL OR position(lower(:subject) IN lower(subject)) > 0)
          AND (:after_number::bigint IS NULL OR number > :after_number)
        ORDER BY CASE WHEN :newest_first THEN -number ELSE number END
        LIMIT :limit"
    );

    #[repeatable]
    STATES = "outbox.list_mail_states": "
        SELECT id, number, recipient, read_at IS NOT NULL AS is_read
        FROM basalt.outbox
        WHERE sent_to = 'inbox'
          AND (sent_at <= created_at OR sent_at <= :now::timestamptz)
          AND channel = 'email'
        ORDER BY number DESC
        LIMIT :limit";

    #[repeatable]
    RECEIVED = "outbox.find_message": concat!(
        "SELECT ", columns!(), "
        FROM basalt.outbox
        WHERE sent_to = 'inbox'
          AND (sent_at <= created_at OR sent_at <= :now::timestamptz)
          AND id = :id"
    );

    #[repeatable]
    NUMBER = "outbox.find_number": "
        SELECT number
        FROM basalt.outbox
        WHERE id = :id";

    #[repeatable]
    LAST_NUMBER = "outbox.find_last_number": "
        SELECT coalesce(max(number), 0) AS number
        FROM basalt.outbox
        WHERE sent_to = 'inbox'";

    #[repeatable]
    RAW = "outbox.find_raw": "
        SELECT raw
        FROM basalt.outbox
        WHERE id = :id";

    #[proves(Message)]
    KEEP = "outbox.insert_received": "
        INSERT INTO basalt.outbox (id, purpose, channel, sender, recipient, subject, html, text, headers, code,
                                   message_id, raw, attachment_count, created_at, attempts, next_attempt_at,
                                   give_up_at, sent_at, sent_to)
        VALUES (:id, :purpose, :channel, :sender, :recipient, :subject, :html, :text, :headers, :code, :message_id,
                :raw, :attachment_count, :created_at, 0, :created_at, :created_at, :created_at, 'inbox')";

    DELETE_SURPLUS = "outbox.delete_surplus": "
        DELETE FROM basalt.outbox
        WHERE raw IS NOT NULL
          AND number <= (
              SELECT number
              FROM basalt.outbox
              WHERE raw IS NOT NULL
              ORDER BY number DESC
              OFFSET :kept
              LIMIT 1
          )";

    DELETE_SELECTED = "outbox.delete_selected": "
        DELETE FROM basalt.outbox
        WHERE sent_to = 'inbox'
          AND (sent_at <= created_at OR sent_at <= :now::timestamptz)
          AND (:recipient::text IS NULL OR lower(:recipient) = ANY (string_to_array(lower(recipient), ', ')))
          AND (:channel::text IS NULL OR channel = :channel)
          AND (:purpose::text IS NULL OR purpose = :purpose)
          AND (:subject::text IS NULL OR position(lower(:subject) IN lower(subject)) > 0)
          AND (:after_number::bigint IS NULL OR number > :after_number)
          AND (:ids::uuid[] IS NULL OR id = ANY (:ids))";

    MARK_READ = "outbox.mark_read": "
        UPDATE basalt.outbox
        SET read_at = CASE WHEN :is_read THEN coalesce(read_at, :now) END
        WHERE sent_to = 'inbox'
          AND (:ids::uuid[] IS NULL OR id = ANY (:ids))";
}

/// A message that is kept: a mail of the auth API, an SMS, or a mail of an application.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxMail {
    /// `id`: the cursor for later messages.
    pub id: Uuid,
    /// The order of writing.
    pub number: i64,
    /// `email` or `sms`.
    pub channel: String,
    /// The sender of an application's mail.
    pub sender: Option<String>,
    /// The recipient's address or number; several are separated by `, `.
    pub to: String,
    pub subject: String,
    /// The link in the mail.
    pub link: Option<String>,
    /// The code in the message.
    pub code: Option<String>,
    /// The plain-text body, if there is one.
    pub text: Option<String>,
    /// The HTML body.
    pub html: String,
    /// Additional headers; all headers of an application's mail.
    pub headers: Vec<(String, String)>,
    /// `unique@host`.
    pub message_id: String,
    /// The purpose.
    pub kind: String,
    /// The time of writing.
    pub created_at: Time,
    /// The number of attachments.
    pub attachment_count: i32,
    /// The size of an application's mail in bytes; else 0.
    pub raw_size: i32,
    /// Whether it is marked as read.
    pub is_read: bool,
}

impl FromRow<'_, PgRow> for InboxMail {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            number: row.try_get("number")?,
            channel: row.try_get("channel")?,
            sender: row.try_get("sender")?,
            to: row.try_get("recipient")?,
            subject: row.try_get("subject")?,
            link: row.try_get("link")?,
            code: row.try_get("code")?,
            text: row.try_get("text")?,
            html: row.try_get("html")?,
            headers: row.try_get::<Json<_>, _>("headers")?.0,
            message_id: row.try_get("message_id")?,
            kind: row.try_get("purpose")?,
            created_at: row.try_get("created_at")?,
            attachment_count: row.try_get("attachment_count")?,
            raw_size: row.try_get("raw_size")?,
            is_read: row.try_get("is_read")?,
        })
    }
}

/// What changes of a kept mail are recognised by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailState {
    pub id: Uuid,
    /// The order of writing.
    pub number: i64,
    /// The recipient's address; several are separated by `, `.
    pub to: String,
    /// Whether it is marked as read.
    pub is_read: bool,
}

impl FromRow<'_, PgRow> for MailState {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            number: row.try_get("number")?,
            to: row.try_get("recipient")?,
            is_read: row.try_get("is_read")?,
        })
    }
}

/// A selection of mails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxQuery {
    /// Only mails to this address, case-insensitively.
    pub to: Option<String>,
    /// Only mails after the one with this id; none if the id is unknown.
    pub after: Option<Uuid>,
}

/// A selection of kept messages; `None` selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// Only messages to this address or number, case-insensitively.
    pub to: Option<String>,
    /// Only messages of this channel, `email` or `sms`.
    pub channel: Option<&'static str>,
    /// Only messages of this purpose.
    pub purpose: Option<String>,
    /// Only messages whose subject contains this text, case-insensitively.
    pub subject: Option<String>,
    /// Only messages with a higher number.
    pub after_number: Option<i64>,
}

/// The order and the number of listed messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRange {
    /// Whether the newest message is the first.
    pub is_newest_first: bool,
    /// The maximum number of messages.
    pub limit: i64,
}

/// A message to keep that is no mail of the auth API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub id: Uuid,
    pub purpose: &'static str,
    /// `email` or `sms`.
    pub channel: &'static str,
    /// The sender of an application's mail.
    pub sender: Option<String>,
    /// The recipient's address or number; several are separated by `, `.
    pub recipient: String,
    pub subject: String,
    /// The HTML body.
    pub html: String,
    /// The plain-text body.
    pub text: Option<String>,
    /// All headers of an application's mail.
    pub headers: Vec<(String, String)>,
    /// The code in the message, if it is known.
    pub code: Option<String>,
    /// `unique@host`.
    pub message_id: String,
    /// An application's mail as it was received.
    pub raw: Option<Vec<u8>>,
    /// The number of attachments.
    pub attachment_count: i32,
    /// The time of writing.
    pub created_at: Time,
}

/// Returns at most `at_most` mails, newest first.
pub async fn list_inbox(db: &mut Connection, query: &InboxQuery, at_most: i64, now: Time) -> Result<Vec<InboxMail>> {
    db.fetch_all(bind!(INBOX, recipient: query.to.as_deref(), after_id: query.after, limit: at_most, now)).await
}

/// Returns the selected messages within a range.
pub async fn list_messages(
    db: &mut Connection,
    filter: &MessageFilter,
    range: MessageRange,
    now: Time,
) -> Result<Vec<InboxMail>> {
    let MessageFilter { to, channel, purpose, subject, after_number } = filter;
    let bound = bind!(
        MESSAGES,
        recipient: to.as_deref(),
        channel: *channel,
        purpose: purpose.as_deref(),
        subject: subject.as_deref(),
        after_number: *after_number,
        newest_first: range.is_newest_first,
        limit: range.limit,
        now,
    );
    db.fetch_all(bound).await
}

/// Returns the state of the latest mails, newest first.
pub async fn list_mail_states(db: &mut Connection, limit: i64, now: Time) -> Result<Vec<MailState>> {
    db.fetch_all(bind!(STATES, limit, now)).await
}

/// Returns the message of that id.
pub async fn find_inbox_mail(db: &mut Connection, id: Uuid, now: Time) -> Result<Option<InboxMail>> {
    db.fetch_optional(bind!(RECEIVED, id, now)).await
}

/// Returns the number of the message of that id.
pub async fn find_number(db: &mut Connection, id: Uuid) -> Result<Option<i64>> {
    Ok(db.fetch_optional::<(i64,)>(bind!(NUMBER, id)).await?.map(|(number,)| number))
}

/// Returns the number of the latest message; 0 if there is none.
pub async fn find_last_number(db: &mut Connection) -> Result<i64> {
    db.fetch_one::<(i64,)>(bind!(LAST_NUMBER)).await.map(|(number,)| number)
}

/// Returns an application's mail as it was received.
pub async fn find_raw(db: &mut Connection, id: Uuid) -> Result<Option<Vec<u8>>> {
    Ok(db.fetch_optional::<(Option<Vec<u8>>,)>(bind!(RAW, id)).await?.and_then(|(raw,)| raw))
}

/// Inserts a message to keep.
pub async fn insert_message(db: &mut Connection, message: &NewMessage) -> Result<()> {
    let bound = bind!(
        KEEP,
        id: message.id,
        purpose: message.purpose,
        channel: message.channel,
        sender: message.sender.as_deref(),
        recipient: message.recipient.as_str(),
        subject: message.subject.as_str(),
        html: message.html.as_str(),
        text: message.text.as_deref(),
        headers: Json(&message.headers),
        code: message.code.as_deref(),
        message_id: message.message_id.as_str(),
        raw: message.raw.as_deref(),
        attachment_count: message.attachment_count,
        created_at: message.created_at,
    );
    db.execute(bound).await.map(drop)
}

/// Deletes the oldest mails of applications beyond the `kept` latest ones.
pub async fn delete_surplus_mails(db: &mut Connection, kept: i64) -> Result<u64> {
    db.execute(bind!(DELETE_SURPLUS, kept)).await
}

/// Deletes the selected messages, with `ids` only those of these ids; returns their number.
pub async fn delete_messages(
    db: &mut Connection,
    filter: &MessageFilter,
    ids: Option<&[Uuid]>,
    now: Time,
) -> Result<u64> {
    let MessageFilter { to, channel, purpose, subject, after_number } = filter;
    let bound = bind!(
        DELETE_SELECTED,
        recipient: to.as_deref(),
        channel: *channel,
        purpose: purpose.as_deref(),
        subject: subject.as_deref(),
        after_number: *after_number,
        ids,
        now,
    );
    db.execute(bound).await
}

/// Marks messages as read or unread, with `ids` only those of these ids; returns their number.
pub async fn mark_read(db: &mut Connection, ids: Option<&[Uuid]>, is_read: bool, now: Time) -> Result<u64> {
    db.execute(bind!(MARK_READ, ids, is_read, now)).await
}
