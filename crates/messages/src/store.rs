//! The messages of one backend.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use http_edge::ShutdownSignal;
use platform::clock::{Clock, SystemClock};
use platform::mail::EmailMessage;
use platform::mail::compose::{MailSender, compose};
use platform::mail::inbox::{Inbox, MessageFilter, MessageRange, POLL_INTERVAL};
use platform::store::Error;
use uuid::Uuid;

use crate::kind::purpose_of_kind;
use crate::message::{Channel, Message};
use crate::mime::{ParsedMail, format_sms};

/// The maximum number of listed messages.
pub(crate) const MAX_LISTED: u16 = 200;

/// The maximum number of the latest messages.
pub(crate) const MAX_LATEST: i64 = 500;

/// The sender of the auth API's mails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageSender {
    /// The name; empty for none.
    pub name: String,
    pub address: String,
}

/// A selection of messages; `None` selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageQuery {
    /// Only messages to this address or number, case-insensitively; a number may have a `+`.
    pub to: Option<String>,
    /// Only messages of this channel.
    pub channel: Option<Channel>,
    /// Only messages of this kind.
    pub kind: Option<String>,
    /// Only messages whose subject contains this text, case-insensitively.
    pub subject: Option<String>,
    /// Only later messages.
    pub after: Option<Cursor>,
    /// How long to wait for a message if there is none.
    pub wait: Duration,
    /// The maximum number of messages; 0 for 200, which is also the most.
    pub limit: u16,
}

/// The position after which messages are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    /// After the message of this id.
    Message(Uuid),
    /// After the time of the query.
    Now,
}

/// Why the store could not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The cursor is the id of a message that does not exist.
    #[error("the message of the cursor does not exist")]
    UnknownCursor,
    /// The database returned an error or was unreachable.
    #[error("the messages could not be read or written")]
    Database(#[from] Error),
}

/// The messages of one backend; clones share them.
#[derive(Debug, Clone)]
pub struct MessageStore {
    pub(crate) inbox: Inbox,
    pub(crate) sender: Arc<MessageSender>,
    pub(crate) closing: ShutdownSignal,
}

impl MessageStore {
    /// Creates the store of an inbox.
    ///
    /// `sender` is that of the auth API's mails. Readers stop waiting once `closing` is true.
    pub fn new(inbox: Inbox, sender: MessageSender, closing: ShutdownSignal) -> Self {
        Self { inbox, sender: Arc::new(sender), closing }
    }

    /// Returns the selected messages, oldest first, and waits for the first one.
    ///
    /// It waits at most as long as the query says, in real time whatever the backend's clock is. No connection is held
    /// while waiting.
    ///
    /// # Errors
    /// The cursor is unknown, or the database returned an error or was unreachable.
    pub async fn list(&self, query: &MessageQuery) -> Result<Vec<Message>, StoreError> {
        let filter = self.resolve(query).await?;
        let limit = if query.limit == 0 { MAX_LISTED } else { query.limit.min(MAX_LISTED) };
        let range = MessageRange { is_newest_first: false, limit: limit.into() };
        let clock = SystemClock;
        let end = clock.now() + TimeDelta::from_std(query.wait).unwrap_or(TimeDelta::days(1));
        let mut closing = self.closing.clone();
        loop {
            let mut written = pin!(self.inbox.written().notified());
            written.as_mut().enable();
            let found = self.inbox.list_messages(&filter, range).await?;
            let left = (end - clock.now()).to_std().unwrap_or(Duration::ZERO);
            if !found.is_empty() || left.is_zero() || *closing.borrow() {
                return Ok(found.into_iter().map(|mail| Message::new(mail, &self.sender.address)).collect());
            }
            tokio::select! {
                () = written => {}
                () = clock.sleep(left.min(POLL_INTERVAL)) => {}
                _ = closing.wait_for(|closing| *closing) => {}
            }
        }
    }

    /// Returns the latest messages, at most 500, newest first; with `channel` only those of that channel.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn list_latest(&self, channel: Option<Channel>) -> Result<Vec<Message>, StoreError> {
        let filter = MessageFilter { channel: channel.map(Channel::as_str), ..MessageFilter::default() };
        let range = MessageRange { is_newest_first: true, limit: MAX_LATEST };
        let found = self.inbox.list_messages(&filter, range).await?;
        Ok(found.into_iter().map(|mail| Message::new(mail, &self.sender.address)).collect())
    }

    /// Returns one message.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn get(&self, id: Uuid) -> Result<Option<Message>, StoreError> {
        Ok(self.inbox.get(id).await?.map(|mail| Message::new(mail, &self.sender.address)))
    }

    /// Deletes the selected messages and returns their number.
    ///
    /// `wait` and `limit` of the query have no effect.
    ///
    /// # Errors
    /// The cursor is unknown, or the database returned an error or was unreachable.
    pub async fn delete(&self, query: &MessageQuery) -> Result<u64, StoreError> {
        let filter = self.resolve(query).await?;
        Ok(self.inbox.delete(&filter, None).await?)
    }

    /// Deletes the messages of these ids and returns their number.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn delete_by_id(&self, ids: &[Uuid]) -> Result<u64, StoreError> {
        Ok(self.inbox.delete(&MessageFilter::default(), Some(ids)).await?)
    }

    /// Marks messages as read or unread, with `ids` only those of these ids; returns their number.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn mark_read(&self, ids: Option<&[Uuid]>, is_read: bool) -> Result<u64, StoreError> {
        Ok(self.inbox.mark_read(ids, is_read).await?)
    }

    /// Returns a message in the format of RFC 5322.
    ///
    /// It is as the application sent it, or as a mail server would get it.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn raw(&self, message: &Message) -> Result<Vec<u8>, StoreError> {
        if message.mail.raw_size > 0 {
            return Ok(self.inbox.find_raw(message.id).await?.unwrap_or_default());
        }
        Ok(self.compose(message).unwrap_or_else(|| format_sms(message)))
    }

    /// Returns headers, bodies and attachments of a message.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn parse(&self, message: &Message) -> Result<ParsedMail, StoreError> {
        Ok(ParsedMail::parse(&self.raw(message).await?))
    }

    /// Composes a mail of the auth API; `None` for an SMS, or if an address is not valid in a mail.
    fn compose(&self, message: &Message) -> Option<Vec<u8>> {
        if message.channel == Channel::Sms {
            return None;
        }
        let mail = &message.mail;
        let sender = MailSender::new(&self.sender.name, &self.sender.address, &[]).ok()?;
        let email = EmailMessage {
            purpose: mail.kind.clone().into(),
            to: mail.to.clone(),
            subject: mail.subject.clone(),
            html: mail.html.clone(),
            text: mail.text.clone(),
            message_id: mail.message_id.clone(),
            date: mail.created_at,
            headers: mail.headers.clone(),
            code: None,
            link: None,
        };
        compose(&sender, &email).ok().map(|(_, raw)| raw)
    }

    async fn resolve(&self, query: &MessageQuery) -> Result<MessageFilter, StoreError> {
        let after_number = match query.after {
            None => None,
            Some(Cursor::Now) => Some(self.inbox.find_last_number().await?),
            Some(Cursor::Message(id)) => Some(self.inbox.find_number(id).await?.ok_or(StoreError::UnknownCursor)?),
        };
        Ok(MessageFilter {
            to: query.to.as_deref().map(|to| to.strip_prefix('+').unwrap_or(to).to_owned()),
            channel: query.channel.map(Channel::as_str),
            purpose: query.kind.as_deref().map(|kind| purpose_of_kind(kind).to_owned()),
            subject: query.subject.clone(),
            after_number,
        })
    }
}
