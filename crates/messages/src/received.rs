//! Keeps mails that an application sent by SMTP or by Mailpit's API.

use platform::mail::inbox::NewMessage;
use uuid::Uuid;

use crate::kind::APPLICATION_KIND;
use crate::mime::ParsedMail;
use crate::store::{MessageStore, StoreError};

/// The maximum number of bytes of a received mail.
pub(crate) const MAX_MAIL_BYTES: usize = 10 * 1024 * 1024;

impl MessageStore {
    /// Keeps a mail as an application sent it, from and to the addresses of its envelope; returns its id.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub async fn receive(&self, from: &str, recipients: &[String], raw: Vec<u8>) -> Result<Uuid, StoreError> {
        let mail = ParsedMail::parse(&raw);
        let (id, created_at) = self.inbox.stamp();
        let sender = mail.mailboxes("from").into_iter().next().map_or_else(|| from.to_owned(), |from| from.address);
        let message = NewMessage {
            id,
            purpose: APPLICATION_KIND,
            channel: "email",
            sender: Some(sender),
            recipient: recipients.join(", "),
            subject: mail.header("subject").to_owned(),
            html: mail.html,
            text: mail.text,
            headers: mail.headers,
            code: None,
            message_id: format!("{id}@received"),
            attachment_count: i32::try_from(mail.attachments.len()).unwrap_or(i32::MAX),
            raw: Some(raw),
            created_at,
        };
        self.inbox.keep(&message).await?;
        Ok(id)
    }
}
