//! What Inbucket's WebSockets report: `/api/v1/monitor/messages` and `/api/v2/monitor/messages`.

use serde_json::{Value, json};

use super::shapes::{decode_name, is_mailbox, list_item, plain_name};
use crate::mail_feed::{MailChange, MailFeed};
use crate::message::Message;
use crate::store::{MessageStore, StoreError};

/// The number of earlier mails with which a client starts.
const HISTORY_LENGTH: usize = 30;

/// Which mails a WebSocket reports, and in which version of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MailboxMonitor {
    /// Whether deletions are reported, and the kind of each change is named: version 2.
    ///
    /// Version 1 sends the headers of new mails alone.
    has_deletions: bool,
    /// The only mailbox; `None` for all.
    mailbox: Option<String>,
}

impl MailboxMonitor {
    /// Creates the monitor of a mailbox, whose name is a segment of a path, or of all.
    pub(crate) fn new(has_deletions: bool, segment: Option<&str>) -> Self {
        Self { has_deletions, mailbox: segment.map(decode_name) }
    }

    /// Formats the latest of the present mails, oldest first.
    pub(crate) async fn format_history(&self, feed: &MailFeed) -> Result<Vec<String>, StoreError> {
        let mut texts = Vec::new();
        for mail in feed.mails().skip(feed.mails().len().saturating_sub(HISTORY_LENGTH)) {
            if self.find_mailboxes(&mail.to).is_empty() {
                continue;
            }
            if let Some(message) = feed.store().get(mail.id).await? {
                texts.extend(self.format_stored(feed.store(), &message).await?);
            }
        }
        Ok(texts)
    }

    /// Formats changes as messages of the WebSocket.
    pub(crate) async fn format_changes(
        &self,
        store: &MessageStore,
        changes: &[MailChange],
    ) -> Result<Vec<String>, StoreError> {
        let mut texts = Vec::new();
        for change in changes {
            match change {
                MailChange::Stored(message) => texts.extend(self.format_stored(store, message).await?),
                MailChange::Deleted(mail) if self.has_deletions => {
                    texts.extend(self.find_mailboxes(&mail.to).into_iter().map(|mailbox| {
                        let identifier = json!({"mailbox": mailbox, "id": mail.id});
                        event("message-deleted", &identifier, &Value::Null)
                    }));
                }
                MailChange::Deleted(_) | MailChange::Marked(..) => {}
            }
        }
        Ok(texts)
    }

    /// Formats a mail once for each mailbox that has it.
    async fn format_stored(&self, store: &MessageStore, message: &Message) -> Result<Vec<String>, StoreError> {
        let mut texts = Vec::new();
        for mailbox in self.find_mailboxes(&message.to) {
            let header = list_item(store, &mailbox, message).await?;
            texts.push(if self.has_deletions {
                event("message-stored", &Value::Null, &header)
            } else {
                header.to_string()
            });
        }
        Ok(texts)
    }

    /// Returns the mailboxes of these recipients that the WebSocket reports, each once.
    fn find_mailboxes(&self, recipients: &str) -> Vec<String> {
        let mut recipients = recipients.split(", ").filter(|to| !to.is_empty());
        if let Some(name) = &self.mailbox {
            return recipients.any(|to| is_mailbox(name, to)).then(|| name.clone()).into_iter().collect();
        }
        let mut names: Vec<String> = recipients.map(|to| plain_name(to).to_ascii_lowercase()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn event(variant: &str, identifier: &Value, header: &Value) -> String {
    json!({"variant": variant, "identifier": identifier, "header": header}).to_string()
}
