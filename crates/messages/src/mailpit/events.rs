//! What Mailpit's WebSocket, `/api/events`, reports.

use serde_json::{Value, json};

use super::shapes;
use crate::addresses::Addresses;
use crate::mail_feed::{MailChange, MailFeed};
use crate::store::StoreError;

/// The number of deleted messages above which clients have to read the list again.
const MAX_DELETIONS: usize = 200;

/// Formats changes as messages of the WebSocket.
///
/// An empty mailbox is reported in addition to the deletion of each mail: the changes do not show which of both calls
/// emptied it.
pub(crate) async fn format_events(feed: &MailFeed, changes: &[MailChange]) -> Result<Vec<String>, StoreError> {
    let store = feed.store();
    let deleted = changes.iter().filter(|change| matches!(change, MailChange::Deleted(_))).count();
    let mut events = Vec::new();
    for change in changes {
        match change {
            MailChange::Stored(message) => {
                let (addresses, size) = (Addresses::new(message, &store.sender), store.raw(message).await?.len());
                events.push(event("new", &shapes::list_item(message, &addresses, size)));
            }
            MailChange::Marked(id, is_read) => events.push(event("update", &json!({"ID": id, "Read": is_read}))),
            MailChange::Deleted(mail) if deleted <= MAX_DELETIONS => {
                events.push(event("delete", &json!({"ID": mail.id})));
            }
            MailChange::Deleted(_) => {}
        }
    }
    if deleted > MAX_DELETIONS {
        events.push(event("prune", &Value::Null));
    }
    let total = feed.mails().len();
    if deleted > 0 && total == 0 {
        events.push(event("truncate", &Value::Null));
    }
    let unread = feed.mails().filter(|mail| !mail.is_read).count();
    events.push(event("stats", &shapes::statistics(total, unread)));
    Ok(events)
}

fn event(kind: &str, data: &Value) -> String {
    json!({"Type": kind, "Data": data}).to_string()
}
