//! The JSON of Mailpit's API.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use md5::{Digest, Md5};
use serde_json::{Value, json};

use crate::addresses::{Addresses, StoredHeaders};
use crate::message::Message;
use crate::mime::{Attachment, Mailbox, ParsedMail};

/// The version of Mailpit whose API this is.
const VERSION: &str = "v1.27.0";
/// The maximum number of characters of a snippet.
const SNIPPET_LENGTH: usize = 250;

/// The answer of `GET /api/v1/info`.
pub(super) fn info(messages: usize, unread: usize) -> Value {
    json!({
        "Version": VERSION,
        "LatestVersion": VERSION,
        "Database": "basalt.outbox",
        "DatabaseSize": 0,
        "Messages": messages,
        "Unread": unread,
        "Tags": {},
        "RuntimeStats": {
            "Uptime": 0,
            "Memory": 0,
            "MessagesDeleted": 0,
            "SMTPAccepted": 0,
            "SMTPAcceptedSize": 0,
            "SMTPRejected": 0,
            "SMTPIgnored": 0,
        },
    })
}

/// The numbers that clients of the WebSocket get after each change.
pub(super) fn statistics(messages: usize, unread: usize) -> Value {
    json!({"Total": messages, "Unread": unread, "Version": VERSION})
}

/// The answer of `GET /api/v1/webui`.
pub(super) fn configuration() -> Value {
    json!({
        "Label": "Basalt",
        "MessageRelay": {
            "Enabled": false,
            "SMTPServer": "",
            "ReturnPath": "",
            "AllowedRecipients": "",
            "BlockedRecipients": "",
            "OverrideFrom": "",
            "PreserveMessageIDs": false,
            "RecipientAllowlist": "",
        },
        "SpamAssassin": false,
        "ChaosEnabled": false,
        "DuplicatesIgnored": false,
        "HideDeleteAllButton": false,
    })
}

/// A message of a list.
pub(super) fn list_item(message: &Message, addresses: &Addresses, size: usize) -> Value {
    json!({
        "ID": message.id,
        "MessageID": message_id(message),
        "Read": message.is_read,
        "From": mailbox(&addresses.from),
        "To": mailboxes(&addresses.to),
        "Cc": mailboxes(&addresses.cc),
        "Bcc": mailboxes(&addresses.bcc),
        "ReplyTo": mailboxes(&addresses.reply_to),
        "Subject": message.subject,
        "Created": message.at,
        "Username": "",
        "Tags": [],
        "Size": size,
        "Attachments": message.attachment_count,
        "Snippet": message.snippet(SNIPPET_LENGTH),
    })
}

/// A message with its bodies.
pub(super) fn summary(message: &Message, addresses: &Addresses, mail: &ParsedMail, size: usize) -> Value {
    let files = |is_inline: bool| -> Vec<Value> {
        let numbered = mail.attachments.iter().enumerate();
        numbered.filter(|(_, file)| file.is_inline == is_inline).map(attachment).collect()
    };
    let list_unsubscribe = mail.header("list-unsubscribe");
    json!({
        "ID": message.id,
        "MessageID": message_id(message),
        "From": mailbox(&addresses.from),
        "To": mailboxes(&addresses.to),
        "Cc": mailboxes(&addresses.cc),
        "Bcc": mailboxes(&addresses.bcc),
        "ReplyTo": mailboxes(&addresses.reply_to),
        "ReturnPath": addresses.from.address,
        "Subject": message.subject,
        "ListUnsubscribe": {
            "Header": list_unsubscribe,
            "Links": [],
            "Errors": "",
            "HeaderPost": mail.header("list-unsubscribe-post"),
        },
        "Date": message.at,
        "Tags": [],
        "Username": "",
        "Text": message.text,
        "HTML": message.html,
        "Size": size,
        "Inline": files(true),
        "Attachments": files(false),
    })
}

fn attachment((index, file): (usize, &Attachment)) -> Value {
    json!({
        "PartID": (index + 1).to_string(),
        "FileName": file.name,
        "ContentType": file.content_type,
        "ContentID": file.content_id,
        "Size": file.content.len(),
        "Checksums": checksums(&file.content),
    })
}

/// Returns checksums to compare files by; nothing is protected by them.
fn checksums(content: &[u8]) -> Value {
    json!({
        "MD5": hex::encode(Md5::digest(content)),
        "SHA1": hex::encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, content).as_ref()),
        "SHA256": hex::encode(digest(&SHA256, content).as_ref()),
    })
}

/// Returns the `Message-ID` without brackets.
pub(super) fn message_id(message: &Message) -> &str {
    match message.mail.header("message-id").trim_matches(['<', '>', ' ']) {
        "" => &message.mail.message_id,
        own => own,
    }
}

fn mailbox(mailbox: &Mailbox) -> Value {
    json!({"Name": mailbox.name, "Address": mailbox.address})
}

fn mailboxes(list: &[Mailbox]) -> Value {
    list.iter().map(mailbox).collect()
}
