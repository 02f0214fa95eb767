//! What the owner of the shop does with submissions: list, search, answer, note, export, delete.
//!
//! Every operation is one statement or one transaction, so that servers on one database may work at the same time.

pub mod changes;
pub mod error;
pub mod export;
pub mod filter;
pub mod input;
pub mod jobs;
pub mod records;
pub mod reply;
pub mod sample_mails;
pub mod store;

use std::sync::Arc;

use bytes::Bytes;
use chrono::TimeDelta;
use futures::stream::{self, BoxStream, StreamExt};
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::journal::Journal;
use platform::mail::outbox::Outbox;
use platform::store::{Connection, Pool};
use serde_json::{Value, json};
use uuid::Uuid;

use self::changes::{NewNote, ReplyContent};
use self::error::{InvalidInput, SubmissionError};
use self::export::ExportFormat;
use self::filter::{MAX_LIMIT, SubmissionCursor, SubmissionFilter, SubmissionPage, SubmissionStatus};
use self::input::ReplyInput;
use self::records::{MessageRecord, NoteRecord, SubmissionDetails, SubmissionRecord, list_senders};
use self::reply::{ReplyMail, build_reply};
use crate::functions::send_submission::address::EmailAddress;
use crate::functions::send_submission::{SubmissionSettings, TemplateTitles};

/// The maximum number of notes of a submission.
const MAX_NOTES: i64 = 200;
/// The maximum number of replies to a submission.
const MAX_REPLIES: i64 = 100;
/// Equal replies within this time are one, such as those of a double click.
const REPEAT_WINDOW: TimeDelta = TimeDelta::minutes(2);

/// The result of an operation on submissions.
pub type Result<T> = std::result::Result<T, SubmissionError>;

/// The submissions of a database, for their owner.
#[derive(Debug)]
pub struct Submissions {
    pool: Pool,
    outbox: Arc<Outbox>,
    settings: SubmissionSettings,
    titles: TemplateTitles,
    clock: SharedClock,
    entropy: Entropy,
}

/// One page of submissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionList {
    /// The submissions, newest first.
    pub submissions: Vec<SubmissionRecord>,
    /// Where the next page begins, if there is one.
    pub next: Option<SubmissionCursor>,
}

impl Submissions {
    /// Opens the submissions of this database; replies go to `outbox`.
    pub fn new(
        pool: Pool,
        outbox: Arc<Outbox>,
        settings: SubmissionSettings,
        clock: SharedClock,
        entropy: Entropy,
    ) -> Self {
        Self { pool, outbox, settings, titles: TemplateTitles::default(), clock, entropy }
    }

    /// Names templates by these titles.
    #[must_use]
    pub fn with_template_titles(mut self, titles: TemplateTitles) -> Self {
        self.titles = titles;
        self
    }

    /// Returns the titles of templates.
    pub fn titles(&self) -> &TemplateTitles {
        &self.titles
    }

    /// Lists a page of submissions.
    ///
    /// # Errors
    /// The statement failed.
    pub async fn list(&self, page: &SubmissionPage) -> Result<SubmissionList> {
        let limit = usize::from(page.limit);
        let mut submissions = store::list(&mut self.connection(), page, i64::from(page.limit) + 1).await?;
        let is_last = submissions.len() <= limit;
        submissions.truncate(limit);
        let next = submissions.last().filter(|_| !is_last);
        let next = next.map(|last| SubmissionCursor { created_at: last.created_at, id: last.id });
        Ok(SubmissionList { submissions, next })
    }

    /// Counts the submissions of each status.
    ///
    /// # Errors
    /// The statement failed.
    pub async fn counts(&self) -> Result<Value> {
        let found = store::count_by_status(&mut self.connection()).await?;
        let count = |status: SubmissionStatus| {
            let count = found.iter().find(|(name, _)| name == status.as_str()).map_or(0, |(_, count)| *count);
            (status.as_str().to_owned(), json!(count))
        };
        Ok(Value::Object(SubmissionStatus::ALL.into_iter().map(count).collect()))
    }

    /// Returns the answer to a request for a page: `submissions`, `counts` and `next`.
    ///
    /// # Errors
    /// A statement failed.
    pub async fn list_json(&self, page: &SubmissionPage) -> Result<Value> {
        let list = self.list(page).await?;
        let submissions: Vec<Value> =
            list.submissions.iter().map(|submission| submission.to_json(&self.titles)).collect();
        Ok(json!({
            "submissions": submissions,
            "counts": self.counts().await?,
            "next": list.next.map(SubmissionCursor::format),
        }))
    }

    /// Finds a submission with its notes and messages.
    ///
    /// # Errors
    /// There is none, or a statement failed.
    pub async fn find(&self, id: Uuid) -> Result<SubmissionDetails> {
        let mut db = self.connection();
        let submission = store::get(&mut db, id).await?.ok_or(SubmissionError::NotFound("submission"))?;
        let notes = store::list_notes(&mut db, id).await?;
        let messages = store::list_messages(&mut db, id).await?;
        Ok(SubmissionDetails { submission, notes, messages })
    }

    /// Sets the status of a submission.
    ///
    /// # Errors
    /// There is none, or the statement failed.
    pub async fn set_status(&self, id: Uuid, status: SubmissionStatus) -> Result<()> {
        let is_found = changes::set_status(&mut self.connection(), id, status).await?;
        if is_found { Ok(()) } else { Err(SubmissionError::NotFound("submission")) }
    }

    /// Stores a note of `author`.
    ///
    /// # Errors
    /// There is no such submission, it has too many notes, or the statement failed.
    pub async fn add_note(&self, id: Uuid, text: &str, author: &str) -> Result<NoteRecord> {
        let (note, now) = (self.entropy.uuid(), self.clock.now());
        let new = NewNote { id: note, text, author, now, limit: MAX_NOTES };
        let outcome = changes::insert_note(&mut self.connection(), id, new).await?;
        if outcome.is_stored {
            return Ok(NoteRecord { id: note, text: text.to_owned(), author: author.to_owned(), created_at: now });
        }
        Err(if outcome.is_found {
            SubmissionError::Conflict {
                code: "too_many_notes",
                message: "the submission has 200 notes; delete one before you add another",
            }
        } else {
            SubmissionError::NotFound("submission")
        })
    }

    /// Deletes a note.
    ///
    /// # Errors
    /// There is none, or the statement failed.
    pub async fn delete_note(&self, id: Uuid, note: Uuid) -> Result<()> {
        let is_found = changes::delete_note(&mut self.connection(), id, note).await?;
        if is_found { Ok(()) } else { Err(SubmissionError::NotFound("note")) }
    }

    /// Sends a reply of `author` and marks the submission as answered.
    ///
    /// An equal reply that was just sent is returned.
    ///
    /// # Errors
    /// There is no such submission, it does not name the address, it has too many replies, or a statement failed.
    pub async fn reply(&self, id: Uuid, input: &ReplyInput, author: &str) -> Result<MessageRecord> {
        let now = self.clock.now();
        let mut db = Connection::begin(&self.pool, Arc::new(Journal::default())).await?;
        let quoted = changes::lock(&mut db, id).await?.ok_or(SubmissionError::NotFound("submission"))?;
        let senders = list_senders(quoted.account_email.as_deref(), quoted.senders.as_deref(), &quoted.description);
        let to = find_recipient(&senders, &input.to)?;
        let content = ReplyContent { recipient: to.as_str(), subject: &input.subject, text: &input.text };
        let earlier = changes::find_earlier_mails(&mut db, id, content, now - REPEAT_WINDOW).await?;
        if let Some(repeated) = earlier.repeated {
            db.rollback().await?;
            return self.find_message(id, repeated).await;
        }
        if earlier.replies >= MAX_REPLIES {
            let message = "the submission has 100 replies; write further ones with your own mail program";
            return Err(SubmissionError::Conflict { code: "too_many_replies", message });
        }
        let confirmation = earlier.confirmation.as_deref();
        let reply = ReplyMail { id: self.entropy.uuid(), now, to: &to, input, quoted: &quoted, confirmation };
        let mail = self.outbox.to_row(&build_reply(&self.settings, reply));
        let message = mail.id;
        changes::insert_reply(&mut db, id, mail, content, author).await?;
        self.outbox.notify_after_commit(&mut db);
        db.commit().await?;
        self.find_message(id, message).await
    }

    /// Tries again to deliver a mail that was given up.
    ///
    /// # Errors
    /// There is no such message, it was not given up, or a statement failed.
    pub async fn resend(&self, id: Uuid, message: Uuid) -> Result<MessageRecord> {
        let found = self.find_message(id, message).await?;
        let is_due = self.outbox.retry(&mut self.connection(), message).await?;
        if is_due {
            return self.find_message(id, message).await;
        }
        Err(match found.state.as_str() {
            "waiting" => SubmissionError::Conflict {
                code: "message_waiting",
                message: "the message waits for its next attempt already",
            },
            _ => SubmissionError::Conflict {
                code: "message_not_failed",
                message: "the message was delivered, and its content is not kept; send another reply",
            },
        })
    }

    /// Deletes submissions with their notes and messages; returns their number.
    ///
    /// # Errors
    /// The statement failed.
    pub async fn delete(&self, ids: &[Uuid]) -> Result<u64> {
        Ok(changes::delete(&mut self.connection(), ids).await?)
    }

    /// Exports the selected submissions, newest first, a page at a time.
    pub fn export(
        self: Arc<Self>,
        filter: SubmissionFilter,
        format: ExportFormat,
    ) -> BoxStream<'static, Result<Bytes>> {
        let page = SubmissionPage { filter, before: None, limit: MAX_LIMIT };
        stream::try_unfold(Some(page), move |page| {
            let submissions = Arc::clone(&self);
            async move {
                let Some(mut page) = page else { return Ok(None) };
                let list = submissions.list(&page).await?;
                let is_start = page.before.is_none();
                let mut part = if is_start { format.start() } else { String::new() };
                for (index, submission) in list.submissions.iter().enumerate() {
                    part.push_str(&format.format(submission, &submissions.titles, is_start && index == 0));
                }
                if list.next.is_none() {
                    part.push_str(format.end());
                }
                page.before = list.next;
                Ok(Some((Bytes::from(part), list.next.map(|_| page))))
            }
        })
        .boxed()
    }

    async fn find_message(&self, id: Uuid, message: Uuid) -> Result<MessageRecord> {
        let messages = store::list_messages(&mut self.connection(), id).await?;
        messages.into_iter().find(|record| record.id == message).ok_or(SubmissionError::NotFound("message"))
    }

    fn connection(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::new(Journal::default()))
    }
}

/// Returns the address of the submission that a reply goes to.
fn find_recipient(senders: &[String], to: &str) -> std::result::Result<EmailAddress, InvalidInput> {
    let named = senders.iter().filter_map(|sender| EmailAddress::parse(sender)).find(|sender| sender.is_same(to));
    named.ok_or_else(|| {
        let hint = match senders {
            [] => "The submission names no address".to_owned(),
            senders => format!("The submission names {}", senders.join(", ")),
        };
        InvalidInput {
            code: "recipient_not_named",
            ..InvalidInput::new("a reply goes to an address of the submission")
        }
        .with_hint(hint)
    })
}
